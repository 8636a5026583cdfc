// All routes: the operations, under their names, and what else is served. The router, 405, OPTIONS and the OpenAPI document come from it.

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

/** It needs a connection, or is for browsers: no client has a function for it, and no bridge asks. */
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

/** In the order in which the OpenAPI document shows them: the node's own before those of backends. */
export const ROUTES: readonly Route[] = [
  page('/', 'The way to the page', 'way'),
  page('/ui', 'The page', 'document'),
  page('/ui/{file}', 'A file of the page', 'file'),
  ...OF_OPERATIONS.filter((route) => !('backend' in route)),
  EVENTS,
  ...OF_OPERATIONS.filter((route) => 'backend' in route),
];
