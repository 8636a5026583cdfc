// The rules of Home Assistant's MQTT device discovery (2026.6, homeassistant/components/mqtt: schemas.py and each platform's schema), as
// far as they concern the platforms that are used here: a checker of messages, row by row.

type Check = (value: unknown) => boolean;

/** Whole characters: its parser refuses half of one, and with it the message. */
const isText: Check = (value) =>
  typeof value === 'string' && value !== '' && Buffer.from(value).toString() === value;
const isTemplate: Check = (value) => typeof value === 'string' && balanced(value);
const isNumber: Check = (value) => typeof value === 'number';
const isBoolean: Check = (value) => typeof value === 'boolean';
const isList: Check = (value) =>
  Array.isArray(value) && value.length > 0 && new Set(value).size === value.length && value.every(isText);
const isPublishTopic: Check = (value) => isText(value) && !/[+#\0]/.test(String(value));
const isSubscribeTopic: Check = isPublishTopic;
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);

/** A template must check that there is JSON before it reads the payload: topics that are emptied have none. */
function balanced(template: string): boolean {
  const texts = template.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const isGuarded = !texts.includes('value_json.') || texts.includes('value_json is defined');
  return isGuarded && texts.split('{{').length === texts.split('}}').length;
}

const ENTITY: Readonly<Record<string, Check>> = {
  platform: isText,
  unique_id: isText,
  name: (value) => value === null || isText(value),
  availability: isAvailability,
  availability_mode: oneOf('all', 'any', 'latest'),
  entity_category: oneOf('config', 'diagnostic'),
  enabled_by_default: isBoolean,
  icon: (value) => /^mdi:[a-z-]+$/.test(String(value)),
  json_attributes_topic: isSubscribeTopic,
  json_attributes_template: isTemplate,
  qos: oneOf(0, 1, 2),
};

const READ = { state_topic: isSubscribeTopic, value_template: isTemplate };
const ON_OFF = { payload_on: isText, payload_off: isText };

interface Platform {
  readonly takes: Readonly<Record<string, Check>>;
  readonly needs: readonly string[];
}

const PLATFORMS: Readonly<Record<string, Platform>> = {
  number: {
    takes: {
      ...READ,
      ...{
        command_topic: isPublishTopic,
        command_template: isTemplate,
        min: isNumber,
        max: isNumber,
        step: isNumber,
      },
      ...{ mode: oneOf('auto', 'box', 'slider'), unit_of_measurement: isText },
    },
    needs: ['command_topic'],
  },
  switch: {
    takes: { ...READ, ...ON_OFF, command_topic: isPublishTopic, state_on: isText, state_off: isText },
    needs: ['command_topic'],
  },
  select: {
    takes: { ...READ, command_topic: isPublishTopic, command_template: isTemplate, options: isList },
    needs: ['command_topic', 'options'],
  },
  button: {
    takes: {
      ...{
        command_topic: isPublishTopic,
        payload_press: isText,
        device_class: oneOf('identify', 'restart', 'update'),
      },
    },
    needs: ['command_topic'],
  },
  sensor: {
    takes: { ...READ, device_class: oneOf('enum'), options: isList, unit_of_measurement: isText },
    needs: ['state_topic'],
  },
  binary_sensor: {
    takes: { ...READ, ...ON_OFF, device_class: oneOf('running', 'problem') },
    needs: ['state_topic'],
  },
  update: {
    takes: { ...READ, command_topic: isPublishTopic, payload_install: isText },
    needs: ['state_topic'],
  },
};

function isAvailability(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      (each: Record<string, unknown>) =>
        isSubscribeTopic(each['topic']) &&
        Object.entries(each).every(
          ([key, inner]) => key === 'topic' || (key === 'value_template' && isTemplate(inner)),
        ),
    )
  );
}

const DEVICE: Readonly<Record<string, Check>> = {
  identifiers: isList,
  name: isText,
  manufacturer: isText,
  model: isText,
  sw_version: isText,
  hw_version: isText,
  configuration_url: (value) => URL.canParse(String(value)),
};

/** Everything that is wrong with the message, one line each. */
export function faultsOf(text: string): readonly string[] {
  const { device = {}, origin = {}, components = {}, ...rest } = JSON.parse(text) as Record<string, object>;
  const shared = Object.keys(rest).filter(
    (key) => !['availability', 'availability_mode', 'qos', 'encoding'].includes(key),
  );
  const entries = Object.entries(components as Record<string, Record<string, unknown>>);
  const ids = entries.map(([, component]) => `${component['platform']} ${component['unique_id']}`);
  return [
    ...shared.map((key) => `${key}: is not shared`),
    ...wrongIn('device', device, DEVICE),
    ...('identifiers' in device ? [] : ['device: has no identifier']),
    ...('name' in origin ? [] : ['origin: has no name']),
    ...(new Set(ids).size === ids.length ? [] : ['two components have one unique id']),
    ...(entries.length > 0 ? [] : ['there are no components']),
    ...entries.flatMap(([key, component]) => faultsOfComponent(key, component)),
  ];
}

function faultsOfComponent(key: string, component: Record<string, unknown>): readonly string[] {
  const wrongKey = /^[a-zA-Z0-9_-]+$/.test(key) ? [] : [`${key}: is no object id`];
  const platform = PLATFORMS[String(component['platform'])];
  if (platform === undefined) return [...wrongKey, `${key}: there is no platform ${component['platform']}`];
  // That is how an entity leaves.
  if (Object.keys(component).length === 1) return wrongKey;
  const missing = ['unique_id', ...platform.needs].filter((name) => component[name] === undefined);
  const { min = 0, max = 100 } = component as { min?: number; max?: number };
  return [
    ...wrongKey,
    ...missing.map((name) => `${key}: has no ${name}`),
    ...(min < max ? [] : [`${key}: its least is not below its most`]),
    ...(component['device_class'] === 'enum' && component['options'] === undefined
      ? [`${key}: no options`]
      : []),
    ...wrongIn(key, component, { ...ENTITY, ...platform.takes }),
  ];
}

function wrongIn(what: string, values: object, checks: Readonly<Record<string, Check>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const check = checks[name];
    if (check === undefined) return [`${what}.${name}: is not known`];
    return check(value) ? [] : [`${what}.${name}: ${JSON.stringify(value)}`];
  });
}
