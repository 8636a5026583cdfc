// The house on one page (docs/http-api.md, "The house"): three booted nodes that find each other by mDNS, and
// the page of one of them in each engine. A node is switched off, comes back at another address, or gets
// another name. A page of another origin reads and changes nothing. A falsely announced host gets no request.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { EVERY_ENGINE, openEngine } from '../browser/engines.js';
import { PHONE } from '../browser/pages.js';
import type { WebDriverPage } from '../browser/webdriver.js';
import { send } from '../tools/http.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { BootedHouse, OWN_ADDRESS, ROOMS, type Room } from './booted-house.js';
import { whyNoNode } from './node.js';

const NEW_ADDRESS = '10.9.0.33';
const AWAY_TEXT = 'Not there right now';

/** False announcements contain this host name of the web. */
const WEB_NAME = 'evil.example';
/** False announcements contain this public address. Their test adds the address to this machine. */
const PUBLIC_ADDRESS = '93.184.215.14';
/** The port of false announcements. */
const FALSE_PORT = 8080;

/** Each row is the end of a unit's name, and the command that announces something while this unit runs. */
const FALSE_ANNOUNCEMENTS: Readonly<Record<string, string>> = {
  'web-name': `avahi-publish-address --no-reverse ${WEB_NAME} ${OWN_ADDRESS}`,
  'by-web-name': `avahi-publish-service --host=${WEB_NAME} by-web-name _http._tcp ${FALSE_PORT} path=/ui api=tonearm`,
  'public-address': `avahi-publish-address --no-reverse far.local ${PUBLIC_ADDRESS}`,
  'by-address': `avahi-publish-service --host=far.local by-address _http._tcp ${FALSE_PORT} path=/ui api=tonearm`,
};
/** This announcement is made last. When the page displays it, the others have arrived, too. */
const LAST_ANNOUNCEMENT = `avahi-publish-service last _http._tcp ${FALSE_PORT} path=/ui api=odio-api`;
/** The page displays this text only for the last announcement, the only one with another API (odio-api). */
const LAST_TEXT = 'Opens its own page';

/**
 * A script that resolves with the answers that a page of another origin gets from a node. The browser sends
 * the requests of `blind`, but hides their answers from the page: their type is `opaque`.
 */
const foreignRequests = (url: string): string => `(async () => {
  const read = (path) => fetch('${url}' + path).then((answer) => answer.text(), () => 'nothing');
  const blind = (path, method) => fetch('${url}' + path, { method, mode: 'no-cors' }).then(({ type }) => type);
  const stream = new Promise((resolve) => {
    const source = new EventSource('${url}/events');
    source.onopen = () => resolve('open');
    source.onerror = () => { source.close(); resolve('nothing'); };
  });
  return {
    read: await Promise.all(['/server', '/nodes', '/audio', '/players'].map(read)),
    stream: await stream,
    blind: [await blind('/server', 'GET'), await blind('/audio/server/mute', 'POST')],
  };
})()`;

/** Resolves with the port on which the server listens. */
async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

inOwnNetwork(import.meta.url, () => {
  describe('the house of three booted nodes', {
    skip: whyNoNode('ip', 'pactl', 'avahi-daemon', 'avahi-publish'),
  }, () => {
    const house = new BootedHouse();
    const pages = new Map<string, WebDriverPage>();
    const closers: (() => Promise<unknown>)[] = [() => house.close()];

    before(async () => {
      const openPage = async (engine: (typeof EVERY_ENGINE)[number]): Promise<void> => {
        const { page, close } = await openEngine(engine);
        closers.push(close);
        await page.setSize(PHONE.viewport.width, PHONE.viewport.height);
        pages.set(engine.name, page);
      };
      const presentEngines = EVERY_ENGINE.filter(({ skipReason }) => skipReason() === false);
      await Promise.all([house.boot(), ...presentEngines.map(openPage)]);
    });
    after(() => Promise.all(closers.map((close) => close())));

    const open = async (page: WebDriverPage): Promise<void> => {
      await page.goto(`${house.url('Living room')}/ui?view=house`);
      for (const room of ROOMS) await page.waitFor('slider', `Volume of ${room}`);
    };
    /** Acts at the same time in each engine. The first failure is thrown when all have ended. */
    const inEveryEngine = async (act: (page: WebDriverPage) => Promise<unknown>): Promise<void> => {
      const inEngine = async ([engine, page]: readonly [string, WebDriverPage]): Promise<void> => {
        await act(page).catch((cause: unknown) => assert.fail(`${engine}: ${String(cause)}`));
      };
      const ended = await Promise.allSettled([...pages].map(inEngine));
      for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
    };
    /** The names of the rooms on the page: the room of the page's own node, then the others by name. */
    const roomsOf = (page: WebDriverPage): Promise<readonly string[]> =>
      page.evaluate("[...document.querySelectorAll('.room h2')].map((heading) => heading.textContent)");
    /** Sets a room's volume by a click on its slider. `label` is the room's name on the page. */
    const clickVolume = async (page: WebDriverPage, room: Room, volume: number, label: string = room) => {
      const spot = await page.spotOf('slider', `Volume of ${label}`, volume);
      await page.drag('pointer', spot, spot);
      await house.outputIs(room, `volume ${volume}`, (output) => Math.abs(output.volume - volume) < 0.03);
    };

    const JOURNEYS: Readonly<Record<string, (page: WebDriverPage) => Promise<unknown>>> = {
      'the page shows the rooms that found each other by mDNS': async (page) => {
        await open(page);
        assert.deepEqual(await roomsOf(page), ['Living room', 'Attic', 'Kitchen']);
      },

      'mute and volume of another room act in that room only': async (page) => {
        await open(page);
        const atticBefore = await house.output('Attic');

        await page.press('touch', 'button', 'Mute Kitchen');
        await house.outputIs('Kitchen', 'muted', ({ muted }) => muted);
        await page.press('keys', 'button', 'Mute Kitchen');
        await house.outputIs('Kitchen', 'not muted', ({ muted }) => !muted);
        await clickVolume(page, 'Kitchen', 0.3);
        await clickVolume(page, 'Kitchen', 0.7);

        assert.deepEqual(await house.output('Attic'), atticBefore);
      },

      'a page of another origin reads nothing from a node, and changes nothing': async (page) => {
        const foreign = createServer((_, response) =>
          response.setHeader('Content-Type', 'text/html').end('<p>'),
        );
        const port = await listen(foreign);
        await page.goto(`http://${OWN_ADDRESS}:${port}`);
        const answer = await page.evaluate(foreignRequests(house.url('Kitchen')));
        foreign.close();
        assert.deepEqual(answer, {
          read: ['nothing', 'nothing', 'nothing', 'nothing'],
          stream: 'nothing',
          blind: ['opaque', 'opaque'],
        });
        // The hidden POST would have muted this output.
        assert.equal((await house.output('Kitchen')).muted, false);
      },
    };

    for (const engine of EVERY_ENGINE)
      describe(`in ${engine.name}`, { skip: engine.skipReason() }, () => {
        const page = () => pages.get(engine.name) ?? assert.fail(`${engine.name} is not open`);
        for (const [title, journey] of Object.entries(JOURNEYS))
          test(title, async () => void (await journey(page())));
      });

    test('a falsely announced host gets no request, and nodes trust neither its web name nor its public address', async (t) => {
      const requestedHosts: string[] = [];
      const server = createServer((request) => requestedHosts.push(String(request.headers.host)));
      t.after(() => server.close());
      ip('addr', 'add', `${PUBLIC_ADDRESS}/32`, 'dev', 'lo');
      await listen(server, FALSE_PORT);
      const attic = house.node('Attic');
      const living = house.node('Living room');
      const announce = (unit: string, command: string) =>
        attic.shell(`systemd-run --quiet --unit=false-${unit} ${command}`);
      t.after(async () => {
        await attic.shell("systemctl stop 'false-*'");
        await until(
          'the false nodes are gone',
          async () => (await house.nodesKnownTo('Living room')).length === ROOMS.length,
        );
      });

      await inEveryEngine(open);
      for (const [unit, command] of Object.entries(FALSE_ANNOUNCEMENTS)) await announce(unit, command);
      await until('Avahi of the living room has found both false services', async () => {
        const output = await living.shell('timeout 5 avahi-browse -rptk _http._tcp');
        // Only lines that begin with `=` have the host name and the address of a service.
        const found = output.split('\n').filter((line) => line.startsWith('='));
        const isFound = (host: string): boolean => found.some((line) => line.includes(host));
        assert.ok([WEB_NAME, PUBLIC_ADDRESS].every(isFound), found.join('\n'));
        return true;
      });
      await announce('last', LAST_ANNOUNCEMENT);
      await inEveryEngine((page) => page.sees(LAST_TEXT));
      // A page may send requests only to nodes that were known when the page was loaded. The test loads each
      // page again, so that the page may send requests to the false node `far.local`. The browsers do not
      // resolve this name, so the page displays the false node as away.
      await inEveryEngine(async (page) => {
        await open(page);
        await page.sees(AWAY_TEXT);
      });

      const names = (await house.nodesKnownTo('Living room')).map(({ name }) => name);
      // A node lists only announcements whose host name ends in `.local`.
      assert.equal(names.includes('by-web-name'), false);
      for (const room of ROOMS) {
        const { status, headers } = await house.node(room).ask('GET', '/ui');
        const policy = String(headers['content-security-policy']);
        assert.deepEqual([status, /evil|93\.184/.test(policy)], [200, false], policy);
        for (const allowed of ROOMS) assert.ok(policy.includes(`${house.url(allowed)} `), policy);
        for (const host of [WEB_NAME, PUBLIC_ADDRESS]) {
          const answer = await send(await house.node(room).door(), {
            path: '/server',
            headers: { Origin: `http://${host}:${FALSE_PORT}` },
          });
          assert.equal(answer.headers['access-control-allow-origin'], undefined, host);
        }
      }
      assert.deepEqual(requestedHosts, []);
    });

    test('a room that is switched off is away, and can be controlled again when it is back at another address', async () => {
      await inEveryEngine(open);
      const attic = house.node('Attic');

      await attic.powerOff();
      await inEveryEngine(async (page) => {
        await page.sees(AWAY_TEXT);
        assert.deepEqual(await roomsOf(page), ['Living room', 'Attic', 'Kitchen']);
        await until(
          'the attic cannot be controlled',
          async () => !(await page.has('slider', 'Volume of Attic')),
        );
        assert.ok(await page.has('slider', 'Volume of Kitchen'));
      });

      await attic.start();
      await house.plugIn('Attic', NEW_ADDRESS);
      await inEveryEngine((page) => page.waitFor('slider', 'Volume of Attic'));
      // Each page sets another volume, so that each click is a change.
      let volume = 0.2;
      for (const page of pages.values()) {
        await clickVolume(page, 'Attic', volume);
        volume += 0.2;
      }
    });

    test('a room that gets another label and another hostname stays one room, named by the new label', async () => {
      await inEveryEngine(open);
      const attic = house.node('Attic');

      await house.label('Attic', 'Studio');
      await inEveryEngine((page) => page.waitFor('slider', 'Volume of Studio'));

      await attic.shell(
        'echo studio > /etc/hostname; hostname studio; systemctl restart avahi-daemon.service',
      );
      await attic.restartService();
      await until('the living room knows the new name', async () =>
        (await house.nodesKnownTo('Living room')).some(({ host }) => host === 'studio.local'),
      );
      await inEveryEngine((page) =>
        until('there is one room with the new name', async () => {
          assert.deepEqual(await roomsOf(page), ['Living room', 'Kitchen', 'Studio']);
          return page.has('slider', 'Volume of Studio');
        }),
      );
      let volume = 0.3;
      for (const page of pages.values()) {
        await clickVolume(page, 'Attic', volume, 'Studio');
        volume += 0.2;
      }
    });
  });
});
