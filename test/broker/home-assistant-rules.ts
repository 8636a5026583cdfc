// Checks device messages by the rules of Home Assistant's MQTT discovery (version 2026.6,
// homeassistant/components/mqtt: schemas.py and each platform's schema). This file has rules only for the
// platforms that tonearm uses.

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, unknown>>;

/**
 * True for a text that is not empty, and has no half of a surrogate pair. Home Assistant refuses a message
 * with such a half.
 */
const isText: Check = (value) =>
  typeof value === 'string' && value !== '' && Buffer.from(value).toString() === value;
const isTopic: Check = (value) => isText(value) && !/[+#\0]/.test(String(value));
const isNumber: Check = (value) => typeof value === 'number';
const isList: Check = (value) =>
  Array.isArray(value) && value.length > 0 && new Set(value).size === value.length && value.every(isText);
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);

/**
 * A template that reads a member of the JSON must first check that there is JSON, because the payload of an
 * emptied topic is no JSON. Strings in the template are emptied before the check: `"}}"` becomes `""`.
 */
const isTemplate: Check = (value) => {
  const withoutStrings = String(value).replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const isGuarded =
    !withoutStrings.includes('value_json.') || withoutStrings.includes('value_json is defined');
  const isClosed = withoutStrings.split('{{').length === withoutStrings.split('}}').length;
  return typeof value === 'string' && isGuarded && isClosed;
};

const isAvailabilityEntry = ({ topic, value_template: template = '', ...rest }: Fields): boolean =>
  isTopic(topic) && isTemplate(template) && Object.keys(rest).length === 0;
const isAvailability: Check = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isAvailabilityEntry);

const COMPONENT_CHECKS: Readonly<Record<string, Check>> = {
  unique_id: isText,
  name: isText,
  icon: (value) => /^mdi:[a-z-]+$/.test(String(value)),
  availability: isAvailability,
  availability_mode: isOneOf('all', 'any', 'latest'),
  entity_category: isOneOf('config', 'diagnostic'),
  unit_of_measurement: isText,
  device_class: isOneOf('running', 'connectivity', 'enum', 'restart', 'timestamp', 'battery'),
  options: isList,
  event_types: isList,
  url_topic: isTopic,
  url_template: (value) => URL.canParse(String(value)),
  state_topic: isTopic,
  command_topic: isTopic,
  json_attributes_topic: isTopic,
  value_template: isTemplate,
  command_template: isTemplate,
  json_attributes_template: isTemplate,
  payload_on: isText,
  payload_off: isText,
  state_on: isText,
  state_off: isText,
  payload_press: isText,
  payload_install: isText,
  min: isNumber,
  max: isNumber,
  step: isNumber,
  mode: isOneOf('auto', 'box', 'slider'),
};

/** The settings of every platform. */
const COMMON = 'platform unique_id name icon availability availability_mode entity_category';
/** The settings of every platform that shows a state. */
const WITH_STATE = `${COMMON} state_topic value_template json_attributes_topic json_attributes_template`;

/** A platform has two lists: the settings that it accepts, and those that it needs besides `unique_id`. */
const PLATFORMS: Readonly<Record<string, readonly [allowed: string, required: string]>> = {
  number: [
    `${WITH_STATE} command_topic command_template min max step mode unit_of_measurement`,
    'command_topic',
  ],
  switch: [`${WITH_STATE} command_topic payload_on payload_off state_on state_off`, 'command_topic'],
  select: [`${WITH_STATE} command_topic command_template options`, 'command_topic options'],
  button: [`${COMMON} command_topic payload_press device_class`, 'command_topic'],
  sensor: [`${WITH_STATE} device_class options unit_of_measurement`, 'state_topic'],
  binary_sensor: [`${WITH_STATE} payload_on payload_off device_class`, 'state_topic'],
  image: [`${COMMON} url_topic url_template`, 'url_topic'],
  event: [`${WITH_STATE} event_types`, 'state_topic event_types'],
  update: [`${WITH_STATE} command_topic payload_install`, 'state_topic'],
};

const DEVICE_CHECKS: Readonly<Record<string, Check>> = {
  identifiers: isList,
  connections: (value) => JSON.stringify(value).startsWith('[["mac","'),
  name: isText,
  manufacturer: isText,
  model: isText,
  sw_version: isText,
  hw_version: isText,
  configuration_url: (value) => URL.canParse(String(value)),
};

/** Returns the faults of the device message `text`, each as a text for people. */
export function faultsOf(text: string): readonly string[] {
  const { device = {}, origin = {}, components = {}, ...rest } = JSON.parse(text) as Record<string, object>;
  // The rest are settings for all components together. Home Assistant accepts only few settings there.
  const unshareable = Object.keys(rest).filter((key) => !/^(availability|availability_mode|qos)$/.test(key));
  const entries = Object.entries(components as Record<string, Fields>);
  const ids = entries.map(([, { platform, unique_id: id }]) => `${platform} ${id}`);
  const isIdentified = 'identifiers' in device && 'name' in origin;
  const areIdsUnique = new Set(ids).size === ids.length;
  return [
    ...unshareable.map((key) => `${key}: components cannot share it`),
    ...Object.entries(device).flatMap(([name, value]) =>
      DEVICE_CHECKS[name]?.(value) === true ? [] : [`device.${name}: ${JSON.stringify(value)}`],
    ),
    ...(isIdentified ? [] : ['the device has no identifiers, or the origin has no name']),
    ...(areIdsUnique ? [] : ['two components of one platform have the same unique id']),
    ...(entries.length > 0 ? [] : ['there are no components']),
    ...entries.flatMap(([key, component]) => faultsOfComponent(key, component)),
  ];
}

function faultsOfComponent(key: string, component: Fields): readonly string[] {
  const wrongKey = /^[a-zA-Z0-9_-]+$/.test(key) ? [] : [`${key}: is no object id`];
  const [allowed, required] = PLATFORMS[String(component['platform'])] ?? [];
  if (allowed === undefined) return [...wrongKey, `${key}: there is no platform ${component['platform']}`];
  // A component with nothing but its platform removes the entity.
  if (Object.keys(component).length === 1) return wrongKey;
  const missing = `unique_id ${required}`.split(' ').filter((name) => component[name] === undefined);
  // These are Home Assistant's defaults for `min` and `max`.
  const { min = 0, max = 100, device_class: deviceClass, options } = component;
  const { platform: _, ...settings } = component;
  const wrong = Object.entries(settings).filter(
    ([name, value]) => !allowed.split(' ').includes(name) || COMPONENT_CHECKS[name]?.(value) !== true,
  );
  return [
    ...wrongKey,
    ...missing.map((name) => `${key}: has no ${name}`),
    ...(Number(min) < Number(max) ? [] : [`${key}: its min is not below its max`]),
    ...(deviceClass === 'enum' && options === undefined ? [`${key}: no options`] : []),
    ...wrong.map(([name, value]) => `${key}.${name}: ${JSON.stringify(value)}`),
  ];
}
