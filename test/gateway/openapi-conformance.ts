// Checks the status, content type and schema of answers against the OpenAPI document of the same daemon. It
// finds the operation of a request without the gateway's router.

import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { HttpAnswer } from '../tools/http.js';

export interface OpenApi {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface Operation {
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;

/** Matches the paths of the page, which is also at `/`, and of its files. A path may begin with `//`. */
const PAGE_PATH = /^\/+(?:ui(?:\/.*)?)?(?:\?|$)/;

/** The keys are the texts of the documents. */
const conformances = new Map<string, Conformance>();

export class Conformance {
  readonly #document: OpenApi;
  /** openapi.test.ts checks the document itself. Checks here would double the time of each compilation. */
  readonly #ajv = new Ajv2020({ strict: false, validateSchema: false });
  readonly #validators = new Map<string, ValidateFunction>();

  /**
   * `text` is the body of `GET /openapi.json`. Most gateways of a process have the same document. So they
   * share its validators, whose compilation takes 0.1 s.
   */
  static of(text: string): Conformance {
    const conformance = conformances.get(text) ?? new Conformance(text);
    conformances.set(text, conformance);
    return conformance;
  }

  private constructor(text: string) {
    this.#document = JSON.parse(text) as OpenApi;
    this.#ajv.addFormat('date-time', (value: string) => !Number.isNaN(Date.parse(value)));
  }

  /**
   * If the document does not have the operation, the answer must be a redirection, a refusal, a file of the
   * page or an answer to OPTIONS.
   * @throws {AssertionError} when the document does not have the answer
   */
  check(method: string, path: string, { status, headers, text }: HttpAnswer): void {
    const operation = operationFor(this.#document, method, path);
    if (operation === undefined) {
      if (status >= 300) return;
      const isFileOrOptions = method === 'OPTIONS' || PAGE_PATH.test(decodeURIComponent(path));
      assert.ok(isFileOrOptions, `${method} ${path}: ${status}, but it is not in the document`);
      return;
    }
    const described = operation.responses[String(status)];
    assert.ok(described, `${method} ${path}: ${status} is not in the document: ${text}`);
    if (method === 'HEAD' || described.content === undefined) {
      assert.equal(text, '', `${method} ${path} has no body`);
      return;
    }
    const type = String(headers['content-type'] ?? '');
    const isDescribed = Object.hasOwn(described.content, type);
    assert.ok(isDescribed, `${method} ${path}: ${type} is not in the document`);
    const reference = described.content[type]?.schema?.$ref;
    if (reference === undefined) return;
    // The components refer to each other. Ajv resolves this only in a schema that contains all of them.
    const { components } = this.#document;
    const validate = this.#validators.get(reference) ?? this.#ajv.compile({ $ref: reference, components });
    this.#validators.set(reference, validate);
    const isValid = validate(JSON.parse(text));
    assert.ok(isValid, `${method} ${path}: ${this.#ajv.errorsText(validate.errors)}\n${text}`);
  }
}

const withoutFinalSlash = (path: string): string => path.replace(/\/$/, '');

/** The operation of a request; undefined if the document has none. */
function operationFor(document: OpenApi, method: string, path: string): Operation | undefined {
  const pathWithoutQuery = withoutFinalSlash(path.split('?')[0] ?? '');
  for (const [template, operations] of Object.entries(document.paths)) {
    const escapedTemplate = withoutFinalSlash(template).replaceAll('.', '\\.');
    const pattern = escapedTemplate.replace(/\{\w+\}/g, '[^/]+');
    if (new RegExp(`^${pattern}$`).test(pathWithoutQuery))
      return operations[method === 'HEAD' ? 'get' : method.toLowerCase()];
  }
  return undefined;
}
