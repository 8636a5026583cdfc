// A page in a browser that WebDriver (W3C) drives. A test reads the page's texts, and presses its controls as
// a person does. Playwright cannot drive Debian's Firefox and WebKit.

import { until } from '../until.js';
import { THUMB_PX } from './finger.js';

/** Each row has a command's name in Marionette (Firefox's own protocol), and its method and path in HTTP. */
export const COMMANDS = {
  goto: ['Navigate', 'POST', '/url'],
  back: ['Back', 'POST', '/back'],
  evaluate: ['ExecuteAsyncScript', 'POST', '/execute/async'],
  act: ['PerformActions', 'POST', '/actions'],
  setSize: ['SetWindowRect', 'POST', '/window/rect'],
  hide: ['MinimizeWindow', 'POST', '/window/minimize'],
  screenshot: ['TakeScreenshot', 'GET', '/screenshot'],
} as const satisfies Readonly<
  Record<string, readonly [marionette: string, method: 'GET' | 'POST', path: string]>
>;

type Command = keyof typeof COMMANDS;

/** The time-outs are in ms. */
export const CAPABILITIES = {
  acceptInsecureCerts: true,
  timeouts: { script: 60_000, pageLoad: 60_000 },
} as const;

export interface Browser {
  /** Resolves with the value in the browser's answer to the command. */
  readonly send: (command: Command, parameters?: object) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** The kind of a control, as a person sees it. */
export type Role = 'button' | 'slider' | 'switch' | 'choice' | 'answer';

/** The way in which a person presses a control. `pointer` is a mouse. */
type Means = 'touch' | 'keys' | 'pointer';

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** The CSS selector for the elements of each role. */
const SELECTORS: Readonly<Record<Role, string>> = {
  button: 'button:not([role]), summary, [role=button]',
  slider: 'input[type=range]',
  switch: '[role=switch]',
  choice: 'select',
  answer: 'dialog[open] button',
};

/** The characters that stand for keys in WebDriver. */
const KEYS = {
  Tab: '\uE004',
  Enter: '\uE007',
  Home: '\uE011',
  ArrowRight: '\uE014',
  ArrowDown: '\uE015',
} as const;

type Key = keyof typeof KEYS;

/** Every page has fewer controls than this. */
const TAB_PRESSES_MAX = 150;
const DRAG_STEPS = 8;
/** How long each step of a drag takes. */
const DRAG_STEP_MS = 16;

/** Finds a visible element by the name that a screen reader speaks, or by the beginning of that name. */
const FIND = `(selector, name) => {
  const isVisible = (element) => element.checkVisibility({ visibilityProperty: true });
  const visible = [...document.querySelectorAll(selector)].filter(isVisible);
  const nameOf = (element) => (element.ariaLabel ?? element.textContent).trim();
  const exact = visible.find((element) => nameOf(element) === name);
  return exact ?? visible.find((element) => nameOf(element).startsWith(name));
}`;

/** Sends the events that a browser sends for a finger. */
const FINGER = `(start, path) => {
  const target = document.elementFromPoint(start.x, start.y);
  const send = (type, { x, y }, buttons) => target.dispatchEvent(new PointerEvent(type, {
    pointerType: 'touch', pointerId: 7, isPrimary: true, buttons, clientX: x, clientY: y, bubbles: true, cancelable: true,
  }));
  // The browser's own function would throw, because the browser knows no pointer with this id.
  target.setPointerCapture = () => undefined;
  send('pointerdown', start, 1);
  for (const spot of path) send('pointermove', spot, 1);
  send('pointerup', path.at(-1) ?? start, 0);
  if (path.length === 0) target.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 1 }));
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

  /** Resolves with the expression's value. If the value is a promise, resolves with the promise's value. */
  async evaluate<T>(expression: string): Promise<T> {
    // The browser passes a function as the only argument. The script must call this function at its end.
    const script = `const done = arguments[0];
      Promise.resolve().then(() => (${expression})).then((value) => done({ value }), (error) => done({ error: String(error) }))`;
    const answer = await this.#browser.send('evaluate', { script, args: [] });
    const { value, error } = answer as { readonly value?: T; readonly error?: string };
    if (error !== undefined) throw new Error(error);
    return value as T;
  }

  async runStatements(script: string): Promise<void> {
    await this.#browser.send('evaluate', { script: `${script}; arguments[0]()`, args: [] });
  }

  /** Resolves with a PNG. */
  async screenshot(): Promise<Buffer> {
    return Buffer.from(String(await this.#browser.send('screenshot', { full: false })), 'base64');
  }

  /** Hides the page until the next `setSize`. */
  async hide(): Promise<void> {
    await this.#browser.send('hide');
  }

  /** Waits until a person can read this text. */
  async sees(text: string): Promise<void> {
    await until(`"${text}" is shown`, async () => (await this.text()).includes(text));
  }

  /** All displayed text. */
  text(): Promise<string> {
    return this.evaluate('document.body.innerText');
  }

  /** Resolves with true if the element is displayed and can be used. */
  has(role: Role, name: string): Promise<boolean> {
    return this.#evaluateFor(role, name, "element !== undefined && !element.matches(':disabled')");
  }

  async waitFor(role: Role, name: string): Promise<void> {
    await until(`the ${role} ${name} is there`, () => this.has(role, name));
  }

  /** Resolves with the text that a screen reader speaks for the value of a slider. */
  valueOf(name: string): Promise<string | undefined> {
    return this.#evaluateFor('slider', name, 'element?.ariaValueText');
  }

  /**
   * Resolves with the value of an expression. The expression may use `element`, which is undefined if no
   * displayed element has this role and name.
   */
  #evaluateFor<T>(role: Role, name: string, expression: string): Promise<T> {
    const selector = JSON.stringify(SELECTORS[role]);
    return this.evaluate(`((element) => ${expression})((${FIND})(${selector}, ${JSON.stringify(name)}))`);
  }

  /**
   * Waits until the element stands still, and nothing covers the place at this fraction of its width. Then
   * resolves with this place. On a slider, the place is the middle of the thumb when the thumb is at this
   * fraction of its way.
   */
  spotOf(role: Role, name: string, fraction = 0.5): Promise<Spot> {
    const spotScript = `(async () => {
      element.scrollIntoView({ block: 'center', behavior: 'instant' });
      const box = () => JSON.stringify(element.getBoundingClientRect());
      const before = box();
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      if (box() !== before) return false;
      const { left, top, width, height } = JSON.parse(before);
      const thumb = element.matches('input[type=range]') ? ${THUMB_PX} : 0;
      const x = left + thumb / 2 + (width - thumb) * ${fraction};
      const y = top + height / 2;
      const front = document.elementFromPoint(x, y);
      return element.contains(front) && { x, y };
    })()`;
    return until(`the ${role} ${name} is in front`, () =>
      this.#evaluateFor<Spot | false>(role, name, spotScript),
    );
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
    const focusScript = 'element !== undefined && element === document.activeElement';
    for (let presses = 0; presses < TAB_PRESSES_MAX; presses += 1) {
      const hasFocus = await this.#evaluateFor<boolean>(role, name, focusScript);
      if (hasFocus) return;
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

  /** Drags from one place to another. If both places are the same, clicks or taps there. */
  async drag(means: 'touch' | 'pointer', from: Spot, to: Spot): Promise<void> {
    const isSamePlace = from.x === to.x && from.y === to.y;
    const path = Array.from({ length: isSamePlace ? 0 : DRAG_STEPS }, (_, step) => ({
      x: Math.round(from.x + ((to.x - from.x) * (step + 1)) / DRAG_STEPS),
      y: Math.round(from.y + ((to.y - from.y) * (step + 1)) / DRAG_STEPS),
    }));
    const start = { x: Math.round(from.x), y: Math.round(from.y) };
    if (means === 'touch' && !this.#hasTouch) {
      await this.evaluate(`(${FINGER})(${JSON.stringify(start)}, ${JSON.stringify(path)})`);
      return;
    }
    const move = (spot: Spot) => ({ type: 'pointerMove', duration: DRAG_STEP_MS, ...spot });
    const actions = [
      move(start),
      { type: 'pointerDown', button: 0 },
      ...path.map(move),
      { type: 'pointerUp', button: 0 },
    ];
    const pointerType = means === 'touch' ? 'touch' : 'mouse';
    await this.#browser.send('act', {
      actions: [{ type: 'pointer', id: pointerType, parameters: { pointerType }, actions }],
    });
  }
}
