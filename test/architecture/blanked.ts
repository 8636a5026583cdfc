// TypeScript source with everything that is not code made blank: comments and the insides of strings. Positions and lines
// stay, so that what is found can be told by line. A small lexer, strict enough for the style of this project.

export interface Blanked {
  /** Same length and lines as the source. Quotes stay. */
  readonly code: string;
  /** The text of each string literal, by the position of its opening quote. */
  readonly strings: ReadonlyMap<number, string>;
}

/** A slash behind one of these begins a regular expression; behind anything else it divides. */
const BEFORE_PATTERN =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|delete|throw|await|yield))$/;

class Lexer {
  readonly #source: string;
  readonly #out: string[];
  readonly strings = new Map<number, string>();
  #at = 0;

  constructor(source: string) {
    this.#source = source;
    this.#out = [...source.split('')];
  }

  blanked(): Blanked {
    this.#code('');
    return { code: this.#out.join(''), strings: this.strings };
  }

  /** Reads code up to an unmatched `end` (a brace that closes a template's hole) or the end of the file. */
  #code(end: string): void {
    let depth = 0;
    while (this.#at < this.#source.length) {
      const char = this.#source.charAt(this.#at);
      const two = this.#source.slice(this.#at, this.#at + 2);
      if (end !== '' && depth === 0 && char === end) return;
      if (two === '//') this.#blank(this.#find('\n'));
      else if (two === '/*') this.#blank(this.#find('*/') + 2);
      else if (char === "'" || char === '"') this.#string(char);
      else if (char === '`') this.#template();
      else if (char === '/' && this.#patternMayBegin()) this.#pattern();
      else {
        if (char === '{') depth += 1;
        if (char === '}') depth -= 1;
        this.#at += 1;
      }
    }
  }

  #find(text: string): number {
    const found = this.#source.indexOf(text, this.#at);
    return found === -1 ? this.#source.length : found;
  }

  /** Blanks up to a position and stands there. */
  #blank(until: number): void {
    for (; this.#at < until; this.#at += 1) {
      if (this.#out[this.#at] !== '\n') this.#out[this.#at] = ' ';
    }
  }

  /** The position of the next unescaped `end`, outside brackets when `classes` is set. */
  #unescaped(end: string, from: number, classes = false): number {
    let inClass = false;
    for (let at = from; at < this.#source.length; at += 1) {
      const char = this.#source.charAt(at);
      if (char === '\\') at += 1;
      else if (classes && char === '[') inClass = true;
      else if (char === ']') inClass = false;
      else if (char === end && !inClass) return at;
    }
    return this.#source.length;
  }

  #string(quote: string): void {
    const begin = this.#at;
    this.#at += 1;
    this.#blank(this.#unescaped(quote, this.#at));
    this.strings.set(begin, this.#source.slice(begin + 1, this.#at));
    this.#at += 1;
  }

  #template(): void {
    const begin = this.#at;
    this.#at += 1;
    while (this.#at < this.#source.length) {
      const end = this.#unescaped('`', this.#at);
      const dollar = this.#unescaped('$', this.#at);
      if (end < dollar) {
        this.#blank(end);
        this.strings.set(begin, this.#source.slice(begin + 1, end));
        this.#at += 1;
        return;
      }
      this.#blank(dollar);
      this.#at += 1;
      if (this.#source.charAt(this.#at) !== '{') continue;
      this.#at += 1;
      this.#code('}');
      this.#at += 1;
    }
  }

  #patternMayBegin(): boolean {
    // What was read already is blank where it was a comment, so the last thing is code.
    const before = this.#out.slice(Math.max(0, this.#at - 200), this.#at).join('');
    return BEFORE_PATTERN.test(before.trimEnd());
  }

  #pattern(): void {
    this.#at += 1;
    this.#blank(this.#unescaped('/', this.#at, true));
    this.#at += 1;
  }
}

export function blank(source: string): Blanked {
  return new Lexer(source).blanked();
}
