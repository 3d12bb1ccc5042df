// Sentences of the fleet: text, with the objects they name as links.
import { useMemo } from "react";
import { addressOfObject, piecesOf } from "../core/objects";
import { Link } from "./basics";

export function ObjectLink({ name, text }: { name: string; text?: string }) {
  const to = addressOfObject(name);
  const shown = <bdi className="name">{text ?? name}</bdi>;
  return to ? <Link to={to}>{shown}</Link> : shown;
}

export function Prose({ text }: { text: string }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return (
    <bdi className="prose">
      {pieces.map((piece, index) => (piece.object ? <ObjectLink key={index} name={piece.text} /> : <span key={index}>{piece.text}</span>))}
    </bdi>
  );
}
