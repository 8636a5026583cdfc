// The page's title; if the node has found others, a menu of them.

import { useEffect, useRef } from 'preact/hooks';
import type { NodeRecord } from '../client/client.js';
import { translate } from './language.js';

interface HouseProps {
  readonly node: string;
  readonly nodes: readonly NodeRecord[];
}

export function House({ node, nodes }: HouseProps) {
  const title = (
    <h1 class="clip">
      <bdi>{node}</bdi>
    </h1>
  );
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = ({ target, type }: Event): void => {
      const { current } = menu;
      const isInside = target instanceof Element && target.closest('.house summary') !== null;
      if (current?.open && !(type === 'click' && isInside)) current.open = false;
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close(event);
    };
    document.addEventListener('click', close);
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('click', close);
      document.removeEventListener('keydown', onKey);
    };
  }, []);
  if (nodes.every(({ self }) => self)) return title;
  const sorted = [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1));
  return (
    <details ref={menu} class="house">
      <summary title={translate('house')}>{title}</summary>
      <ul class="card lines">
        {sorted.map((each) => (
          <li key={each.name}>
            <a href={each.self ? '#' : addressOf(each)} aria-current={each.self ? 'page' : undefined}>
              <bdi>{each.name}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** One text, because a path such as `//host` would lead elsewhere if it were resolved. */
function addressOf({ addresses: [address], host, port, path }: NodeRecord): string {
  const at = address?.includes(':') ? `[${address}]` : (address ?? host);
  return `http://${at}:${port}${path}`;
}
