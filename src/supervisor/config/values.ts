// Between the flat values of the key table and the nested settings that the parts of the service receive. Pure; both ways in one file.

import type { Settings } from '../../protocol/actor/settings.js';
import type { Key, Values } from './keys.js';

/** Settings from whatever answers for each key; asks for every key exactly once. */
export function settingsFrom(take: <K extends Key>(key: K) => Values[K]): Settings {
  const resultFile = take('upgrade.resultFile');
  const checkUnit = take('upgrade.checkUnit');
  const upgradeUnit = take('upgrade.upgradeUnit');
  const internal = [checkUnit, upgradeUnit].filter((unit) => unit !== undefined);
  return {
    bind: take('bind'),
    logLevel: take('logLevel'),
    api: {
      port: take('api.port'),
      cors: { origins: take('api.cors.origins') },
      hosts: take('api.hosts'),
      sse: { enabled: take('api.sse.enabled'), maxClients: take('api.sse.maxClients') },
    },
    systemd: {
      enabled: take('systemd.enabled'),
      system: take('systemd.system'),
      user: take('systemd.user'),
      internal: [...new Set(internal)],
    },
    audio: { enabled: take('pulseaudio.enabled'), serveCookie: take('pulseaudio.serve_cookie') },
    power: {
      enabled: take('power.enabled'),
      capabilities: {
        poweroff: take('power.capabilities.poweroff'),
        reboot: take('power.capabilities.reboot'),
      },
    },
    upgrade: {
      enabled: take('upgrade.enabled'),
      ...(resultFile !== undefined && { resultFile }),
      ...(checkUnit !== undefined && { checkUnit }),
      ...(upgradeUnit !== undefined && { upgradeUnit }),
      progressSocket: take('upgrade.progressSocket'),
      stateFile: take('upgrade.stateFile'),
    },
  };
}

export function valuesOf({ bind, logLevel, api, systemd, audio, power, upgrade }: Settings): Values {
  return {
    bind,
    logLevel,
    'api.port': api.port,
    'api.cors.origins': api.cors.origins,
    'api.hosts': api.hosts,
    'api.sse.enabled': api.sse.enabled,
    'api.sse.maxClients': api.sse.maxClients,
    'systemd.enabled': systemd.enabled,
    'systemd.system': systemd.system,
    'systemd.user': systemd.user,
    'pulseaudio.enabled': audio.enabled,
    'pulseaudio.serve_cookie': audio.serveCookie,
    'power.enabled': power.enabled,
    'power.capabilities.poweroff': power.capabilities.poweroff,
    'power.capabilities.reboot': power.capabilities.reboot,
    'upgrade.enabled': upgrade.enabled,
    'upgrade.resultFile': upgrade.resultFile,
    'upgrade.checkUnit': upgrade.checkUnit,
    'upgrade.upgradeUnit': upgrade.upgradeUnit,
    'upgrade.progressSocket': upgrade.progressSocket,
    'upgrade.stateFile': upgrade.stateFile,
  };
}
