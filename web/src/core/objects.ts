// Names of objects (product.md 3.1: machine/od-0117, need/ml/n3f9c, action/18231.4) and where each is shown.
import { linkTo, objectPath } from "./router";

const KINDS = "machine|need|cluster|shard|action|offering";
const OBJECT = new RegExp(`\\b(?:${KINDS})/[^\\s,;()<>"']+`, "g");

/** Where an object is shown, keeping the time that is looked at; null: this page shows no such thing. */
export function addressOfObject(name: string): string | null {
  const slash = name.indexOf("/");
  const kind = name.slice(0, slash);
  const rest = name.slice(slash + 1);
  if (slash < 0 || !rest) return null;
  switch (kind) {
    case "machine": return linkTo(objectPath("machines", rest));
    case "cluster": return linkTo(objectPath("clusters", rest));
    case "shard": return linkTo(objectPath("shards", rest));
    case "need": return linkTo("/needs", { need: rest });
    case "action": return linkTo("/decisions", { decision: rest });
    case "offering": return linkTo("/topology", { offering: rest });
    default: return null;
  }
}

export interface Piece {
  text: string;
  object: boolean;
}

/** A sentence cut into words and names of objects. A full stop after a name belongs to the sentence. */
export function piecesOf(sentence: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of sentence.matchAll(OBJECT)) {
    const text = match[0].replace(/[.:]+$/, "");
    if (match.index > end) pieces.push({ text: sentence.slice(end, match.index), object: false });
    pieces.push({ text, object: true });
    end = match.index + text.length;
  }
  if (end < sentence.length) pieces.push({ text: sentence.slice(end), object: false });
  return pieces;
}
