// The shell: top bar, navigation, the page at the address, and what lies above all of it.
import { type ComponentType, lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { announcement } from "./core/announce";
import { isOld } from "./core/connection";
import { helpShown, searchShown, useKey } from "./core/keys";
import { useConnection, useStatus } from "./core/live";
import { linkTo, navigate, setQuery, useAddress, useAt } from "./core/router";
import { useStore } from "./core/store";
import { pageAt, PAGES, type Page, type PageProps } from "./pages";
import { KeysDialog } from "./shell/keys-dialog";
import { SearchDialog } from "./shell/search";
import { TopBar } from "./shell/top-bar";
import { Link } from "./ui/basics";
import { Icon } from "./ui/icons";
import { TooltipLayer } from "./ui/overlays";
import { Boundary, Empty, Loading, Partial } from "./ui/states";

/** Only `up` has a tour: other pages never fetch it. */
const TourOffer = lazy(() => import("./pages/scenario/offer"));
const components = new Map<Page, ComponentType<PageProps>>();

function componentOf(page: Page): ComponentType<PageProps> {
  const known = components.get(page) ?? lazy(page.load);
  components.set(page, known);
  return known;
}

function GoTo({ page }: { page: Page }) {
  const go = useCallback(() => navigate(linkTo(page.paths[0] ?? "/")), [page]);
  useKey(`g ${page.key}`, page.title, "Go to", go);
  return null;
}

function Navigation({ current, open }: { current: Page | undefined; open: boolean }) {
  const { query } = useAddress();
  const status = useStatus();
  const pages = PAGES.filter((page) => page.title !== "Scenario" || status?.face === "up");
  return (
    <nav className={`sidebar ${open ? "open" : ""}`} aria-label="Pages" id="pages">
      <ul>
        {pages.map((page) => (
          <li key={page.title}>
            <GoTo page={page} />
            <Link to={linkTo(page.paths[0] ?? "/", { at: query.at })} aria-current={page === current ? "page" : undefined}>
              <Icon name={page.icon} />
              {page.title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const words = (list: readonly string[] | undefined): string => (list ?? []).join(", ");

/** Always says what is real and what is simulated. */
function Footer() {
  const status = useStatus();
  if (!status) return <footer className="footer"><span>BigFleet</span></footer>;
  return (
    <footer className="footer">
      <span>BigFleet {status.version}</span>
      <span>served by {status.face}</span>
      {(status.real?.length ?? 0) > 0 && <span><b>Real:</b> {words(status.real)}</span>}
      {(status.simulatedParts?.length ?? 0) > 0 && <span><b>Simulated:</b> {words(status.simulatedParts)}</span>}
    </footer>
  );
}

function NoSuchPage({ path }: { path: string }) {
  return (
    <>
      <h1>No such page</h1>
      <Empty title={`There is nothing at ${path}`} height={160}>
        <p>Choose a page on the left, or press / and search for a machine, need or cluster.</p>
      </Empty>
    </>
  );
}

export function App() {
  const { path } = useAddress();
  const face = useStatus()?.face;
  const old = isOld(useConnection());
  const at = useAt();
  const found = useMemo(() => pageAt(path), [path]);
  const [menu, setMenu] = useState(false);
  const said = useStore(announcement);
  const help = useStore(helpShown);
  const search = useStore(searchShown);
  useKey("/", "Search", "Anywhere", useCallback(() => searchShown.set(true), []));
  useKey("?", "Show the keys", "Anywhere", useCallback(() => helpShown.set(true), []));
  useKey("l", "Back to live", "Anywhere", useCallback(() => setQuery({ at: undefined }, { push: true }), []));

  const title = found?.page.title ?? "No such page";
  useEffect(() => {
    document.title = `${title} · BigFleet`;
    setMenu(false);
  }, [title, path]);
  useEffect(() => {
    // The other pages are fetched once this one is drawn: a route change then needs no request.
    const timer = window.setTimeout(() => PAGES.forEach((page) => void page.load().catch(() => undefined)), 1500);
    return () => window.clearTimeout(timer);
  }, []);

  const Shown = found ? componentOf(found.page) : null;
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <TopBar menu={menu} onMenu={() => setMenu(!menu)} />
      <div className="frame">
        <Navigation current={found?.page} open={menu} />
        <div className="content">
          <main id="main" tabIndex={-1} className={old ? "old" : ""}>
            {at !== null && found && !found.page.past && <Partial warnings={[`${title} shows the fleet as it is now, not as it was at cycle ${at.toLocaleString("en-US")}.`]} title="Now, not then." />}
            <Boundary key={path} what={title}>
              <Suspense fallback={<><h1 className="sr-only">{title}</h1><Loading height={600} lines={6} label={`Loading ${title}`} /></>}>
                {Shown && found ? <Shown params={found.params} /> : <NoSuchPage path={path} />}
              </Suspense>
            </Boundary>
            {found?.page.tour && at === null && face === "up" && <Boundary what="The tour"><Suspense fallback={null}><TourOffer /></Suspense></Boundary>}
          </main>
          <Footer />
        </div>
      </div>
      <div className="sr-only" role="status" aria-live="polite">{said}</div>
      {help && <KeysDialog />}
      {search && <SearchDialog />}
      <TooltipLayer />
    </>
  );
}
