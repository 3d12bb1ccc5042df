// Every page is one folder and one line here. The order is that of the navigation.
import type { ComponentType } from "react";
import { matchPath, type Params } from "../core/router";
import type { IconName } from "../ui/icons";

export interface PageProps {
  params: Params;
}

export interface Page {
  title: string;
  icon: IconName;
  /** Pressed after "g" it opens the page. */
  key: string;
  /** The first one is where the navigation leads; the others are details of the same page. */
  paths: readonly string[];
  /** Shows any cycle of the journal (`useAt`), not only now. */
  past?: boolean;
  /** In `up` the tour is offered here too. */
  tour?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export const PAGES: readonly Page[] = [
  { title: "Overview", icon: "overview", key: "o", paths: ["/"], tour: true, load: () => import("./overview") },
  { title: "Fleet map", icon: "map", key: "m", paths: ["/map"], past: true, tour: true, load: () => import("./map") },
  { title: "Needs", icon: "needs", key: "n", paths: ["/needs", "/needs/:name"], past: true, load: () => import("./needs") },
  { title: "Decisions", icon: "decisions", key: "d", paths: ["/decisions"], past: true, load: () => import("./decisions") },
  { title: "Machines", icon: "machines", key: "a", paths: ["/machines", "/machines/:id"], load: () => import("./machines") },
  { title: "Clusters", icon: "clusters", key: "c", paths: ["/clusters", "/clusters/:id"], load: () => import("./clusters") },
  { title: "Costs", icon: "costs", key: "e", paths: ["/costs"], past: true, load: () => import("./costs") },
  { title: "What if", icon: "whatif", key: "w", paths: ["/whatif"], past: true, load: () => import("./whatif") },
  { title: "Topology", icon: "topology", key: "t", paths: ["/topology", "/shards/:id"], load: () => import("./topology") },
  { title: "Scenario", icon: "scenario", key: "s", paths: ["/scenario"], load: () => import("./scenario") },
];

export function pageAt(path: string): { page: Page; params: Params } | null {
  for (const page of PAGES) {
    for (const pattern of page.paths) {
      const params = matchPath(pattern, path);
      if (params) return { page, params };
    }
  }
  return null;
}
