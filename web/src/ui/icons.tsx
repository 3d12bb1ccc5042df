// Line icons on a 16-pixel grid; decoration only, so hidden from screen readers.
import type { ReactNode } from "react";

const PATHS = {
  overview: <path d="M2.5 2.5h4.5v6h-4.5zM9 2.5h4.5v3.5H9zM9 8h4.5v5.5H9zM2.5 10.5h4.5v3h-4.5z" />,
  map: <path d="M2.5 2.5h3v3h-3zM6.5 2.5h3v3h-3zM10.5 2.5h3v3h-3zM2.5 6.5h3v3h-3zM6.5 6.5h3v3h-3zM10.5 6.5h3v3h-3zM2.5 10.5h3v3h-3zM6.5 10.5h3v3h-3z" />,
  needs: <path d="M2.5 4h7M2.5 8h11M2.5 12h5M12.5 2.2v3.6M10.7 4h3.6" />,
  decisions: <path d="M4 2.5v11M4 5.5c4 0 3.500-2 8-2M4 8.500c5 0 4 3.500 8 3.500M10.500 1.800l1.700 1.700-1.700 1.700M10.500 10.300l1.700 1.700-1.700 1.700" />,
  machines: <path d="M2.500 3h11v4h-11zM2.500 9h11v4h-11zM4.800 5h.1M4.800 11h.1M8 5h3.500M8 11h3.500" />,
  clusters: <path d="M8 1.800l5.400 3.100v6.200L8 14.200l-5.400-3.100V4.900zM2.600 4.900L8 8l5.400-3.100M8 8v6.200" />,
  costs: <path d="M8 1.800v12.400M11.200 4.600C10.600 3.700 9.500 3.300 8 3.300c-1.900 0-3.200.9-3.200 2.300 0 3.200 6.600 1.500 6.600 4.800 0 1.400-1.400 2.400-3.400 2.400-1.600 0-2.900-.6-3.500-1.700" />,
  topology: <path d="M6 2.500h4v3.500H6zM1.800 10h4v3.500h-4zM10.200 10h4v3.500h-4zM8 6v2M3.800 10V8h8.400v2" />,
  whatif: <path d="M2.500 13.500V8c0-2 1-3 3-3h8M10.800 2.300L13.500 5l-2.700 2.700M2.500 10.500h6c1.500 0 2.500.6 3 1.800" />,
  scenario: <path d="M4.500 2.800v10.400L13 8z" />,
  search: <path d="M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300l3.200 3.200" />,
  sun: <path d="M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.500v1.200M8 13.300v1.200M1.500 8h1.200M13.300 8h1.200M3.400 3.400l.9.9M11.700 11.700l.9.900M12.600 3.400l-.9.9M4.300 11.700l-.9.9" />,
  moon: <path d="M13.200 9.700A5.700 5.700 0 0 1 6.300 2.800a5.700 5.700 0 1 0 6.900 6.900z" />,
  system: <path d="M2 3h12v8H2zM6 13.500h4M8 11v2.500" />,
  menu: <path d="M2.500 4h11M2.500 8h11M2.500 12h11" />,
  close: <path d="M3.500 3.500l9 9M12.500 3.500l-9 9" />,
  copy: <path d="M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3" />,
  check: <path d="M2.800 8.500l3.400 3.400 7-7.600" />,
  code: <path d="M5.200 4.500L1.800 8l3.400 3.500M10.800 4.500L14.200 8l-3.400 3.500" />,
  warning: <path d="M8 2.200l6.300 11.300H1.700zM8 6.500v3.200M8 11.500h.1" />,
  info: <path d="M8 1.800a6.200 6.200 0 1 0 0 12.400A6.200 6.200 0 0 0 8 1.800zM8 7.300v3.900M8 4.900h.1" />,
  pause: <path d="M5 3v10M11 3v10" />,
  play: <path d="M4.500 2.800v10.400L13 8z" />,
  up: <path d="M8 13V3M3.800 7.200L8 3l4.200 4.200" />,
  down: <path d="M8 3v10M3.800 8.800L8 13l4.200-4.200" />,
  chevron: <path d="M6 3.500L10.500 8 6 12.500" />,
  filter: <path d="M2 3h12l-4.600 5.400v4.200l-2.800 1V8.400z" />,
  clock: <path d="M8 1.800a6.200 6.200 0 1 0 0 12.400A6.200 6.200 0 0 0 8 1.800zM8 4.500V8l2.500 1.600" />,
  keyboard: <path d="M1.500 4h13v8h-13zM4 6.500h.1M6.700 6.500h.1M9.300 6.500h.1M12 6.500h.1M5 9.500h6" />,
  eye: <path d="M1.300 8S3.700 3.500 8 3.500 14.700 8 14.700 8 12.300 12.500 8 12.500 1.300 8 1.300 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z" />,
  download: <path d="M8 2v8M4.500 6.800L8 10.300l3.500-3.500M2.500 13.500h11" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      {PATHS[name]}
    </svg>
  );
}

export function Logo() {
  return (
    <svg className="logo" width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" focusable="false">
      <rect x="1" y="1" width="9" height="9" rx="2.2" className="logo-a" />
      <rect x="12" y="1" width="9" height="9" rx="2.2" className="logo-b" />
      <rect x="1" y="12" width="9" height="9" rx="2.2" className="logo-c" />
      <rect x="12" y="12" width="9" height="9" rx="2.2" className="logo-d" />
    </svg>
  );
}
