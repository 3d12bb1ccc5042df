import { currentKeys, helpShown } from "../core/keys";
import { Dialog } from "../ui/overlays";

const ALWAYS = [
  { keys: "Esc", what: "Close what is open", group: "Anywhere" },
  { keys: "↑ ↓ Home End", what: "Move between rows of a table", group: "Tables" },
  { keys: "Enter", what: "Open the row", group: "Tables" },
];

export function KeysDialog() {
  const all = [...currentKeys(), ...ALWAYS];
  const groups = [...new Set(all.map((key) => key.group))];
  return (
    <Dialog title="Keys" onClose={() => helpShown.set(false)}>
      <div className="keys">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {all.filter((key) => key.group === group).map((key) => (
                <div key={key.keys + key.what}>
                  <dt>{key.keys.split(" ").map((part) => <kbd key={part}>{part}</kbd>)}</dt>
                  <dd>{key.what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
