// A page in a browser that WebDriver (W3C) drives: a test reads its texts, and presses its controls as a
// person would. Playwright drives neither Debian's Firefox nor its WebKit.

import { until } from '../until.js';

/** Each command's name in Marionette, Firefox's own protocol; then its method and path in HTTP. */
export const COMMANDS = {
  goto: ['Navigate', 'POST', '/url'],
  back: ['Back', 'POST', '/back'],
  evaluate: ['ExecuteAsyncScript', 'POST', '/execute/async'],
  act: ['PerformActions', 'POST', '/actions'],
  setSize: ['SetWindowRect', 'POST', '/window/rect'],
  hide: ['MinimizeWindow', 'POST', '/window/minimize'],
  screenshot: ['TakeScreenshot', 'GET', '/screenshot'],
} as const satisfies Readonly<Record<string, readonly [string, 'GET' | 'POST', string]>>;

type Command = keyof typeof COMMANDS;

/** In ms. The browser's error says little, but `until` adds what it waited for. */
export const CAPABILITIES = {
  acceptInsecureCerts: true,
  timeouts: { script: 60_000, pageLoad: 60_000 },
} as const;

export interface Browser {
  /** Resolves with the command's value. */
  readonly send: (command: Command, parameters?: object) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** The kind of a control, as a person sees it. */
export type Role = 'button' | 'slider' | 'switch' | 'choice' | 'answer';

/** The way in which a person presses a control. */
type Means = 'touch' | 'keys' | 'pointer';

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** Elements of each role in the page. */
const SELECTORS: Readonly<Record<Role, string>> = {
  button: 'button:not([role]), summary, [role=button]',
  slider: 'input[type=range]',
  switch: '[role=switch]',
  choice: 'select',
  answer: 'dialog[open] button',
};

/** Keys of WebDriver. */
const KEYS = {
  Tab: '\uE004',
  Enter: '\uE007',
  Home: '\uE011',
  ArrowRight: '\uE014',
  ArrowDown: '\uE015',
} as const;

type Key = keyof typeof KEYS;

/** The width of a slider's thumb, as in page.css. */
const THUMB_PX = 22;
/** A page has at most as many controls as this. */
const TABS_MAX = 150;
/** Steps of a drag. */
const STEPS = 8;

/** Finds a visible element by the name that a screen reader speaks, or by the beginning of that name. */
const FIND = `(selector, name) => {
  const seen = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility({ visibilityProperty: true }));
  const nameOf = (element) => (element.ariaLabel ?? element.textContent).trim();
  return seen.find((each) => nameOf(each) === name) ?? seen.find((each) => nameOf(each).startsWith(name));
}`;

export class WebDriverPage {
  readonly #browser: Browser;
  /** If false, the page gets the events of a finger from a script. */
  readonly #hasTouch: boolean;

  constructor(browser: Browser, hasTouch: boolean) {
    this.#browser = browser;
    this.#hasTouch = hasTouch;
  }

  async goto(url: string): Promise<void> {
    await this.#browser.send('goto', { url });
  }

  async back(): Promise<void> {
    await this.#browser.send('back');
  }

  async setSize(width: number, height: number): Promise<void> {
    await this.#browser.send('setSize', { width, height });
  }

  /** Resolves with the expression's value, also if that is a promise. */
  async evaluate<T>(expression: string): Promise<T> {
    const script = `const done = arguments[0];
      Promise.resolve().then(() => (${expression})).then((value) => done({ value }), (error) => done({ error: String(error) }))`;
    const answer = await this.#browser.send('evaluate', { script, args: [] });
    const { value, error } = answer as { readonly value?: T; readonly error?: string };
    if (error !== undefined) throw new Error(error);
    return value as T;
  }

  /** Runs statements. */
  async run(script: string): Promise<void> {
    await this.#browser.send('evaluate', { script: `${script}; arguments[0]()`, args: [] });
  }

  /** A PNG. */
  async screenshot(): Promise<Buffer> {
    return Buffer.from(String(await this.#browser.send('screenshot', { full: false })), 'base64');
  }

  /** Hides the page until it gets a size again. */
  async hide(): Promise<void> {
    await this.#browser.send('hide');
  }

  /** Waits until a person can read this text. */
  async sees(text: string): Promise<void> {
    await until(`"${text}" is shown`, async () => (await this.text()).includes(text));
  }

  /** All that is shown. */
  text(): Promise<string> {
    return this.evaluate('document.body.innerText');
  }

  /** True while such an element is shown, and can be used. */
  has(role: Role, name: string): Promise<boolean> {
    return this.#of(role, name, "element !== undefined && !element.matches(':disabled')");
  }

  async waitFor(role: Role, name: string): Promise<void> {
    await until(`the ${role} ${name} is there`, () => this.has(role, name));
  }

  /** Resolves with the text that a screen reader speaks for a slider. */
  valueOf(slider: string): Promise<string | undefined> {
    return this.#of('slider', slider, 'element?.ariaValueText');
  }

  #of<T>(role: Role, name: string, expression: string): Promise<T> {
    const selector = JSON.stringify(SELECTORS[role]);
    return this.evaluate(`((element) => ${expression})((${FIND})(${selector}, ${JSON.stringify(name)}))`);
  }

  /** The place at `part` of an element's width, once the element stands still and nothing covers it. */
  spotOf(role: Role, name: string, part = 0.5): Promise<Spot> {
    const place = `(async () => {
      element.scrollIntoView({ block: 'center', behavior: 'instant' });
      const box = () => JSON.stringify(element.getBoundingClientRect());
      const before = box();
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      if (box() !== before) return false;
      const { left, top, width, height } = JSON.parse(before);
      const thumb = element.matches('input[type=range]') ? ${THUMB_PX} : 0;
      const x = left + thumb / 2 + (width - thumb) * ${part};
      const y = top + height / 2;
      const front = document.elementFromPoint(x, y);
      return element.contains(front) && { x, y };
    })()`;
    return until(`the ${role} ${name} is in front`, () => this.#of<Spot | false>(role, name, place));
  }

  /** Presses a control. With `keys` the Tab key moves the focus to the control, and Enter presses it. */
  async press(means: Means, role: Role, name: string): Promise<void> {
    await this.waitFor(role, name);
    if (means === 'keys') {
      await this.focus(role, name);
      await this.key('Enter');
      return;
    }
    const spot = await this.spotOf(role, name);
    await this.drag(means, spot, spot);
  }

  /** Presses the Tab key until the element has the focus. */
  async focus(role: Role, name: string): Promise<void> {
    for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
      if (await this.#of(role, name, 'element !== undefined && element === document.activeElement')) return;
      await this.key('Tab');
    }
    throw new Error(`Tab does not lead to the ${role} ${name}`);
  }

  async key(...keys: readonly Key[]): Promise<void> {
    const actions = keys.flatMap((key) =>
      (['keyDown', 'keyUp'] as const).map((type) => ({ type, value: KEYS[key] })),
    );
    await this.#browser.send('act', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  /** Drags from one place to another. If both places are the same, it clicks or taps. */
  async drag(means: 'touch' | 'pointer', from: Spot, to: Spot): Promise<void> {
    const isStill = from.x === to.x && from.y === to.y;
    const way = Array.from({ length: isStill ? 0 : STEPS }, (_, step) => ({
      x: Math.round(from.x + ((to.x - from.x) * (step + 1)) / STEPS),
      y: Math.round(from.y + ((to.y - from.y) * (step + 1)) / STEPS),
    }));
    const start = { x: Math.round(from.x), y: Math.round(from.y) };
    if (means === 'touch' && !this.#hasTouch) {
      await this.evaluate(`(${FINGER})(${JSON.stringify(start)}, ${JSON.stringify(way)})`);
      return;
    }
    const move = (spot: Spot) => ({ type: 'pointerMove', duration: 16, ...spot });
    const actions = [
      move(start),
      { type: 'pointerDown', button: 0 },
      ...way.map(move),
      { type: 'pointerUp', button: 0 },
    ];
    const pointerType = means === 'touch' ? 'touch' : 'mouse';
    await this.#browser.send('act', {
      actions: [{ type: 'pointer', id: pointerType, parameters: { pointerType }, actions }],
    });
  }
}

/** Sends the events that a browser makes of a finger. */
const FINGER = `(start, way) => {
  const target = document.elementFromPoint(start.x, start.y);
  const send = (type, { x, y }, buttons) => target.dispatchEvent(new PointerEvent(type, {
    pointerType: 'touch', pointerId: 7, isPrimary: true, buttons, clientX: x, clientY: y, bubbles: true, cancelable: true,
  }));
  // There is no such pointer to capture.
  target.setPointerCapture = () => undefined;
  send('pointerdown', start, 1);
  for (const each of way) send('pointermove', each, 1);
  send('pointerup', way.at(-1) ?? start, 0);
  if (way.length === 0) target.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 1 }));
}`;
