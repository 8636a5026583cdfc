// Which unit names systemd accepts: unit_name_is_valid() for plain names and template instances (systemd, src/basic/unit-name.c). Pure.

/** UNIT_NAME_MAX counts the terminating zero. */
const MAX_UNIT_NAME_BYTES = 255;

/** systemd.unit(5), in the order of enum UnitType. */
const SUFFIXES = [
  'service',
  'mount',
  'swap',
  'socket',
  'target',
  'device',
  'automount',
  'timer',
  'path',
  'slice',
  'scope',
];

const STEM = /^[0-9A-Za-z:\-_.\\@]+$/;

/** Why systemd would not accept the name as something to start; nothing if it would. */
export function unitNameFault(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (Buffer.byteLength(name) > MAX_UNIT_NAME_BYTES) return `it is longer than ${MAX_UNIT_NAME_BYTES} bytes`;
  const dot = name.lastIndexOf('.');
  if (dot < 0 || !SUFFIXES.includes(name.slice(dot + 1))) return 'it has no suffix such as .service';
  const stem = name.slice(0, dot);
  if (stem === '') return 'it has nothing before the suffix';
  if (!STEM.test(stem)) return 'only letters, digits and : - _ . \\ @ are allowed';
  if (stem.startsWith('@')) return 'it has nothing before the @';
  // The first @ ends the template's name; what follows it is the instance, which may hold more of them.
  if (stem.indexOf('@') === stem.length - 1)
    return 'a template needs an instance, as in player@kitchen.service';
  return undefined;
}
