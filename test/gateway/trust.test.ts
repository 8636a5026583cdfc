// Tests the pure checks of trust. There are rows for the rules of docs/http-api.md, "Host and Origin", and
// for each known attack.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  corsHeaders,
  isTrustedHost,
  type OriginStanding,
  optionsReply,
  originProblem,
  originStanding,
  type TrustRules,
  trustRules,
} from '../../src/gateway/trust.js';

const rules = trustRules('Kitchen', {
  hosts: ['music.example.org', 'radio.lan'],
  origins: ['http://app.lan', 'https://ha.example.org:8123', 'capacitor://localhost'],
  trustsHouse: false,
});

/** IP addresses, names of the node and configured hosts, with and without port, dot and capitals. */
const TRUSTED = `
  127.0.0.1 127.0.0.1:8018 192.168.1.20:8018 127.0.0.1.:8018 [::1] [::1]:8018
  [FE80::1]:8018 [fe80::1%25eth0]:8018 [fe80::1%eth0] [::ffff:10.0.0.1] localhost LOCALHOST:1
  localhost. kitchen KITCHEN:8018 kitchen.local kitchen.local.:8018 music.example.org
  radio.lan kitchen: kitchen.lan kitchen.home kitchen.home.arpa kitchen.internal
  kitchen.localdomain Kitchen.LAN.:8018 kitchen.fritz.box:8018 127.0.0.1:65535`;
/** The names of others, other spellings of addresses, and texts that are no host. */
const REFUSED = `
  evil.example kitchen.evil.example evilkitchen fritz.box kitchen.box kitchen.myfritz.box
  kitchen.fritz.box.evil.example kitchen.com kitchen.arpa kitchen.lan.evil.example kitchen.home.lan a.kitchen.lan
  other.lan lan .lan kitchen.lan.. localhost.evil.example 127.0.0.1.evil.example
  127.0.0.1.nip.io 127.1 2130706433 0x7f.0.0.1 user@127.0.0.1 127.0.0.1/evil.example
  ::1 [::1 [evil.example] [::1]evil.example [::1]:8018:80 127.0.0.1:65536
  127.0.0.1:99999 [127.0.0.1] 127.0.0.1:80a localhost.. . evil.example:8018
  evil.example. radio.lan.evil.example evil-radio.lan 0x7f000001 evil.example@127.0.0.1 127.0.0.1@evil.example
  127.0.0.1#evil.example 127.0.0.1:80:80`;
/** These are refused, too. `words` would drop the empty one, and split the others at their spaces. */
const EMPTY_OR_WITH_SPACES = ['', '127.0.0.1, evil.example', 'evil.example 127.0.0.1'];
const words = (text: string): string[] => text.trim().split(/\s+/);

describe('Host', () => {
  for (const header of words(TRUSTED))
    test(`the host ${header} is trusted`, () => assert.ok(isTrustedHost(header, rules)));
  for (const header of [...words(REFUSED), ...EMPTY_OR_WITH_SPACES])
    test(`the host ${JSON.stringify(header)} is refused`, () => assert.ok(!isTrustedHost(header, rules)));

  test('a node with a full hostname also trusts its first label, alone and with a suffix such as .local', () => {
    const rulesOfFullName = trustRules('kitchen.example.org', { hosts: [], origins: [], trustsHouse: false });
    for (const ownName of ['kitchen.example.org', 'kitchen.local', 'kitchen.lan', 'kitchen'])
      assert.ok(isTrustedHost(ownName, rulesOfFullName), ownName);

    for (const otherName of ['kitchen.example', 'example.org'])
      assert.ok(!isTrustedHost(otherName, rulesOfFullName), otherName);
  });

  test('a node without a hostname trusts no empty name', () => {
    const nameless = trustRules('', { hosts: [], origins: [], trustsHouse: false });
    assert.ok(!isTrustedHost('', nameless));
    assert.ok(!isTrustedHost('.local', nameless));
  });
});

describe('Origin', () => {
  const rows: [origin: string, host: string, standing: string][] = [
    ['', 'kitchen:8018', 'none'],
    ['http://kitchen:8018', 'kitchen:8018', 'same'],
    ['http://kitchen', 'kitchen', 'same'],
    ['http://kitchen', 'kitchen:80', 'same'],
    ['http://[::1]:8018', '[::1]:8018', 'same'],
    // `Host` has no scheme, so schemes are not compared. A host without a port has the usual port of the
    // origin's scheme: 443 with https.
    ['https://kitchen', 'kitchen', 'same'],
    ['HTTPS://Kitchen', 'kitchen.', 'same'],
    ['https://kitchen', 'kitchen:443', 'same'],
    ['https://kitchen', 'kitchen:80', 'foreign'],
    ['https://kitchen:8443', 'kitchen', 'foreign'],
    ['https://kitchen.evil.example', 'kitchen', 'foreign'],
    ['https://', '', 'foreign'],
    ['ftp://kitchen', 'kitchen', 'foreign'],
    ['http://kitchen:8019', 'kitchen:8018', 'foreign'],
    ['http://kitchen:8018/', 'kitchen:8018', 'foreign'],
    ['http://kitchen:8018@evil.example', 'kitchen:8018', 'foreign'],
    ['http://kitchen:8018.evil.example', 'kitchen:8018', 'foreign'],
    ['http://app.lan', 'kitchen:8018', 'allowed'],
    ['https://ha.example.org:8123', 'kitchen:8018', 'allowed'],
    ['capacitor://localhost', 'kitchen:8018', 'allowed'],
    ['http://app.lan:8080', 'kitchen:8018', 'foreign'],
    ['http://app.lan.evil.example', 'kitchen:8018', 'foreign'],
    ['http://app.lan\\evil', 'kitchen:8018', 'foreign'],
    ['http://app.lan http://evil.example', 'kitchen:8018', 'foreign'],
    ['http://app.lan@evil.example', 'kitchen:8018', 'foreign'],
    // This is one of the configured hosts, but none of the configured origins.
    ['http://radio.lan', 'kitchen:8018', 'foreign'],
    ['null', 'kitchen:8018', 'foreign'],
    ['*', 'kitchen:8018', 'foreign'],
    ['rubbish', 'kitchen:8018', 'foreign'],
  ];
  for (const [origin, host, standing] of rows) {
    test(`the origin ${JSON.stringify(origin)} of a request to "${host}" is ${standing}`, () =>
      assert.equal(originStanding(origin, host, rules), standing));
  }

  test('every origin is allowed, also null, if the configuration lists *', () => {
    const open = trustRules('kitchen', { hosts: [], origins: ['*'], trustsHouse: false });
    for (const origin of ['http://evil.example', 'null', 'capacitor://x'])
      assert.equal(originStanding(origin, 'kitchen', open), 'allowed');
  });
});

describe('the protection against pages of other sites', () => {
  // `site` is the header Sec-Fetch-Site, and an empty text if a request has none.
  const rows: [method: string, standing: OriginStanding, site: string, isAllowed: boolean][] = [
    ['POST', 'none', '', true],
    ['POST', 'none', 'same-origin', true],
    ['POST', 'none', 'none', true],
    ['POST', 'none', 'same-site', true],
    ['POST', 'none', 'cross-site', false],
    ['POST', 'none', 'Cross-Site', false],
    ['POST', 'same', 'same-origin', true],
    ['POST', 'same', '', true],
    // The page `http://node` may send this to `https://node`. The check does not compare schemes, but for a
    // browser these are two sites.
    ['POST', 'same', 'cross-site', false],
    // A page of a configured origin may be of another site.
    ['POST', 'allowed', 'cross-site', true],
    ['POST', 'foreign', '', false],
    ['POST', 'foreign', 'same-origin', false],
    ['PUT', 'foreign', '', false],
    ['DELETE', 'none', 'cross-site', false],
    ['OPTIONS', 'none', 'cross-site', true],
    ['OPTIONS', 'allowed', 'cross-site', true],
    ['OPTIONS', 'foreign', '', false],
    ['GET', 'foreign', 'cross-site', true],
    ['HEAD', 'foreign', 'cross-site', true],
  ];
  for (const [method, standing, site, isAllowed] of rows) {
    test(`${method} from an origin of the standing "${standing}" with the fetch site "${site}" is ${isAllowed ? 'allowed' : 'refused'}`, () => {
      const fault = originProblem(method, 'http://x', standing, site);
      assert.equal(fault?.fault, isAllowed ? undefined : 'foreign-origin');
      const why = standing === 'foreign' ? /^Origin "http:\/\/x" is not/ : /another site/;
      if (!isAllowed) assert.match(fault?.detail ?? '', why);
    });
  }
});

describe('CORS headers', () => {
  const withoutOrigins = trustRules('kitchen', { hosts: [], origins: [], trustsHouse: false });
  const withEveryOrigin = trustRules('kitchen', { hosts: [], origins: ['*'], trustsHouse: false });
  const withOtherNodes = trustRules('kitchen', { hosts: [], origins: [], trustsHouse: true });
  const exposedNames = 'ETag, X-Cache-Updated-At, Retry-After, Allow, Content-Disposition, Date';
  const exposed = ['Access-Control-Expose-Headers', exposedNames];
  const vary = ['Vary', 'Origin'];
  const answers: [
    what: string,
    configured: TrustRules,
    standing: OriginStanding,
    headers: (readonly string[])[],
  ][] = [
    ['no origin is configured', withoutOrigins, 'none', []],
    ['no origin is configured', withoutOrigins, 'same', []],
    ['no origin is configured', withoutOrigins, 'foreign', []],
    ['pages of other nodes may be trusted', withOtherNodes, 'none', [vary]],
    ['pages of other nodes may be trusted', withOtherNodes, 'foreign', [vary]],
    ['some origins are configured', rules, 'none', [vary]],
    ['some origins are configured', rules, 'same', [vary]],
    ['some origins are configured', rules, 'foreign', [vary]],
    [
      'some origins are configured',
      rules,
      'allowed',
      [['Access-Control-Allow-Origin', 'http://app.lan'], vary, exposed],
    ],
    [
      'every origin is configured',
      withEveryOrigin,
      'allowed',
      [['Access-Control-Allow-Origin', '*'], vary, exposed],
    ],
    ['every origin is configured', withEveryOrigin, 'none', [vary]],
  ];
  for (const [what, configured, standing, headers] of answers) {
    test(`a reply to an origin of the standing "${standing}" has the right headers where ${what}`, () =>
      assert.deepEqual(corsHeaders('http://app.lan', standing, configured), headers));
  }

  const VARY_OF_PREFLIGHT = ['Vary', 'Origin, Access-Control-Request-Private-Network'];
  const headersOfAllowed = [
    ['Access-Control-Allow-Origin', 'http://app.lan'],
    ['Access-Control-Allow-Methods', 'GET, POST, OPTIONS'],
    ['Access-Control-Allow-Headers', 'Content-Type, Last-Event-ID'],
    ['Access-Control-Max-Age', '600'],
  ];
  for (const standing of ['none', 'same', 'allowed', 'foreign'] as const) {
    for (const asksForPrivateNetwork of [false, true]) {
      test(`a preflight${asksForPrivateNetwork ? ' into a private network' : ''} gets the right headers for the standing "${standing}"`, () => {
        const reply = optionsReply(
          { origin: 'http://app.lan', standing, asksForPrivateNetwork },
          'GET',
          rules,
        );
        const isAllowed = standing === 'same' || standing === 'allowed';
        const network = asksForPrivateNetwork ? [['Access-Control-Allow-Private-Network', 'true']] : [];
        assert.equal(reply.status, 204);
        const granted = isAllowed ? [...headersOfAllowed, ...network] : [];
        assert.deepEqual(reply.headers, [['Allow', 'GET'], ...granted, VARY_OF_PREFLIGHT]);
      });
    }
  }
});
