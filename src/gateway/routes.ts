// All routes: the operations and everything else that is served. Router, 405, OPTIONS and the OpenAPI document are made from this table.

import {
  type Lacks,
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  type OperationName,
  unless,
} from '../protocol/actor/operations.js';
import type { PagePart } from './page.js';

export type OperationRoute = Operation & { readonly name: OperationName };

/** Routes that need a connection or are for browsers, so they are not functions of the client, and bridges cannot call them. */
type OtherRoute = Pick<Operation, 'path' | 'summary' | 'lacks'> & { readonly method: 'GET' } & (
    | { readonly kind: 'events' }
    | { readonly kind: 'page'; readonly part: PagePart }
  );

export type Route = OperationRoute | OtherRoute;

const withPage: Lacks = ({ api }) => unless(api.ui.enabled, 'api.ui.enabled');

function page(path: string, summary: string, part: PagePart): Route {
  return { method: 'GET', path, summary, lacks: withPage, kind: 'page', part };
}

const EVENTS: Route = {
  ...{ method: 'GET', path: '/events', summary: 'The stream of changes', kind: 'events' },
  lacks: ({ api }) => unless(api.sse.enabled, 'api.sse.enabled'),
};

const OF_OPERATIONS = OPERATION_NAMES.map((name): OperationRoute => ({ ...OPERATIONS[name], name }));

/** In the order of the OpenAPI document: the node's own routes before those of backends. */
export const ROUTES: readonly Route[] = [
  page('/', 'The way to the page', 'way'),
  page('/ui', 'The page', 'document'),
  page('/ui/{file}', 'A file of the page', 'file'),
  ...OF_OPERATIONS.filter((route) => !('backend' in route)),
  EVENTS,
  ...OF_OPERATIONS.filter((route) => 'backend' in route),
];
