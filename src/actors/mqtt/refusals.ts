// Refusals of commands that do not come from the gateway, in the form of its problem documents. Pure.

export const RETAINED = {
  type: 'urn:tonearm:problem:retained-command',
  title: 'A retained command is not carried out',
  status: 400,
  detail: 'It would be carried out again at each connection: publish commands without the retain flag',
};

export const TOO_MANY = {
  type: 'urn:tonearm:problem:too-many-commands',
  title: 'Too many commands are waiting',
  status: 503,
  detail: 'No further command can wait: publish it again later',
};
