// Search over everything: pages at once, objects of the fleet from the server as one types.
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { useApi } from "../core/api";
import { searchShown } from "../core/keys";
import { linkTo, navigate, objectPath } from "../core/router";
import type { SearchResult } from "../core/types";
import { PAGES } from "../pages";
import { Pill } from "../ui/basics";
import { Dialog } from "../ui/overlays";

const PAUSE_BEFORE_ASKING = 120;

/** Where an object is shown. Names are those of product.md 3.1. */
export function addressOf(result: SearchResult): string {
  const name = result.name.replace(/^(machine|need|cluster|shard|offering|action)\//, "");
  switch (result.kind) {
    case "machine": return linkTo(objectPath("machines", name));
    case "cluster": return linkTo(objectPath("clusters", name));
    case "shard": return linkTo(objectPath("shards", name));
    case "need": return linkTo("/needs", { need: name });
    case "decision": return linkTo("/decisions", { decision: name });
    case "offering": return linkTo("/topology", { offering: name });
    case "page": return linkTo(result.name);
    default: return linkTo("/");
  }
}

function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), PAUSE_BEFORE_ASKING);
    return () => window.clearTimeout(timer);
  }, [text]);
  return settled;
}

function pagesFor(text: string): SearchResult[] {
  const wanted = text.trim().toLowerCase();
  return PAGES.filter((page) => page.title.toLowerCase().includes(wanted)).map((page) => ({
    kind: "page", name: page.paths[0] ?? "/", title: page.title, detail: `g ${page.key}`,
  }));
}

export function SearchDialog() {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useId();
  const asked = useDebounced(text.trim());
  const found = useApi<{ results: SearchResult[] }>(asked ? "/search" : null, { q: asked });
  const objects = (found.data?.results ?? []).filter((result) => result.kind !== "page");
  const results = [...pagesFor(text), ...(asked ? objects : [])];
  const close = (): void => searchShown.set(false);
  const open = (result: SearchResult | undefined): void => {
    if (!result) return;
    close();
    navigate(addressOf(result));
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setChosen((now) => (results.length ? (now + step + results.length) % results.length : 0));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(results[chosen]);
    }
  };
  const active = results[chosen];
  return (
    <Dialog title="Search" onClose={close}>
      <div className="search">
        <input
          data-autofocus
          type="search"
          role="combobox"
          aria-expanded={results.length > 0}
          aria-controls={list}
          aria-activedescendant={active ? `${list}-${chosen}` : undefined}
          aria-label="Search machines, needs, clusters, shards, offerings, decisions and pages"
          placeholder="Machine, need, cluster, shard, offering, decision, page"
          value={text}
          maxLength={200}
          spellCheck={false}
          onChange={(event) => { setText(event.target.value); setChosen(0); }}
          onKeyDown={pressed}
        />
        <ul id={list} role="listbox" aria-label="Results" className="results">
          {results.map((result, index) => (
            <li key={`${result.kind}/${result.name}`} id={`${list}-${index}`} role="option" aria-selected={index === chosen} onClick={() => open(result)} onPointerMove={() => setChosen(index)}>
              <Pill>{result.kind}</Pill>
              <bdi className="result-title">{result.title || result.name}</bdi>
              <bdi className="result-detail">{result.detail}</bdi>
            </li>
          ))}
        </ul>
        <p className="search-state" role="status">
          {found.error ? found.error.message : asked && !found.loading && objects.length === 0 ? `Nothing in the fleet is called ${asked}.` : "↑ ↓ to choose, Enter to open, Esc to close"}
        </p>
      </div>
    </Dialog>
  );
}
