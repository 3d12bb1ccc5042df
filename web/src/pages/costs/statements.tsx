// What taken machines were declared to cost: a month of clusters or teams, and the newest statements.
import { API, routeOf, useApi } from "../../core/api";
import * as format from "../../core/format";
import { useResets } from "../../core/live";
import { linkTo, objectPath, useQueryState } from "../../core/router";
import { Link, Pill, Segmented, Select } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { Empty, Partial, View } from "../../ui/states";
import { Ago, Count, Money, Name } from "../../ui/values";
import { declaredOf, extraText, type Invoices, type Month, monthsOf, nameOf, netText, rowsOf, type Statement, warningsOf } from "./invoices";

const EVERY = 15_000;
const SHOWN = 12;
const MOST_ROWS = 40;
const BY = [{ value: "cluster", text: "By cluster" }, { value: "team", text: "By team" }] as const;
type By = (typeof BY)[number]["value"];

/** Left of the middle what others took from it, right of it what it took from others: both on one scale. */
function Balance({ line, most }: { line: Month; most: number }) {
  const share = (dollars: number): string => `${most > 0 ? (50 * dollars) / most : 0}%`;
  return (
    <span className="costs-balance" aria-hidden="true">
      <span className="costs-borne" style={{ width: share(line.borneDollars - line.ownDollars) }} />
      <span className="costs-caused" style={{ width: share(line.causedDollars - line.ownDollars) }} />
    </span>
  );
}

function Months({ rows, by }: { rows: readonly Month[]; by: By }) {
  const most = Math.max(0, ...rows.map((line) => Math.max(line.causedDollars, line.borneDollars) - line.ownDollars));
  return (
    <div className="costs-scroll" role="region" aria-label={`Declared dollars by ${by}`} tabIndex={0}>
      <table className="costs-table">
        <thead><tr><th scope="col">{by === "team" ? "Team" : "Cluster"}</th><th scope="col"><span data-tip="Declared for machines that were taken from it">Borne</span></th><th scope="col" className="costs-middle"><span data-tip="Left: taken from it by others, right: taken by it from others">Balance</span></th><th scope="col"><span data-tip="Declared for machines that were taken for it">Caused</span></th><th scope="col"><span data-tip="Caused less borne">Net</span></th><th scope="col"><span data-tip="In caused and in borne: what it took from itself, as where its own demand fell">Own</span></th><th scope="col">Statements</th><th scope="col"><span data-tip="Of workloads that forbid it: they have no amount">Pinned</span></th><th scope="col"><span data-tip="Whose amount is not known: in no sum">Unknown</span></th></tr></thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((line) => {
            const name = nameOf(line);
            return (
              <tr key={name}>
                <th scope="row">{name ? line.cluster ? <Link to={linkTo(objectPath("clusters", name))}><Name>{name}</Name></Link> : <Name>{name}</Name> : <span className="unknown" data-tip="It is not known for whom machines were taken: for another shard, or in a cycle that is missing in the record">unknown</span>}</th>
                <td><Money v={line.borneDollars} /></td>
                <td className="costs-middle"><Balance line={line} most={most} /></td>
                <td><Money v={line.causedDollars} /></td>
                <td><span className="value" data-tip={`$${format.precise(line.netDollars)}`}>{netText(line)}</span></td>
                <td><Money v={line.ownDollars} /></td>
                <td><Count v={line.count} /></td>
                <td><Count v={line.pinned} /></td>
                <td><Count v={line.unknown} /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && <p className="costs-note dim">The {MOST_ROWS} with most dollars of {format.count(rows.length)}; the CSV has all of them.</p>}
    </div>
  );
}

/** The Need, or the cluster where only that is known. */
function Side({ cluster, need, priority }: { cluster: string; need: string | undefined; priority: number | undefined }) {
  const at = format.known(priority) ? `priority ${format.count(priority)}` : "";
  return (
    <span className="costs-two">
      {need ? <Link to={linkTo("/needs", { need: need.replace(/^need\//, "") })}><Name>{cluster}</Name></Link> : <Name>{cluster}</Name>}
      {at && <span className="dim">{at}</span>}
    </span>
  );
}

function One({ made }: { made: Statement }) {
  const declared = declaredOf(made);
  const taker = made.toNeed?.clusterId;
  const extra = extraText(made);
  const chain = made.chain ?? [];
  return (
    <tr>
      <th scope="row"><span className="costs-two"><Link to={linkTo(objectPath("machines", made.machineId))}><Name>{made.machineId}</Name></Link><span className="dim">{format.enumWord(made.kind, "ACTION_KIND_")}, <Ago nanos={made.completedUnixNanos} /></span></span></th>
      <td className="costs-left"><Side cluster={made.fromNeed?.clusterId ?? ""} need={made.from} priority={made.fromPriority} /></td>
      <td className="costs-left">{taker ? <Side cluster={taker} need={made.to} priority={made.toPriority} /> : made.kind === "ACTION_KIND_RECLAIM" ? <span className="dim">no Need: demand fell</span> : <span className="unknown" data-tip={made.unknown}>unknown</span>}</td>
      <td>{declared === "pinned" ? <span data-tip="The workload forbids it: there is no amount"><Pill tone="warn">pinned</Pill></span> : <Money v={declared} why={made.unknown} />}</td>
      <td><span className="costs-two">{format.known(made.drainSeconds) ? <span>{format.duration(made.drainSeconds)}</span> : <span className="unknown" data-tip={made.unknown}>unknown</span>}<span className="dim"><Money v={made.drainValueDollars} why={made.unknown} /> billed</span></span></td>
      <td className="costs-best"><bdi>{made.nextBest?.text || made.unknown || "unknown"}</bdi>{extra && <span className="dim">; {extra}</span>}{chain.length > 0 && <span className="dim costs-chain" data-tip={chain.join(", ")}>follows {format.plural(chain.length, "Preempt")} that took from its taker: <bdi>{chain.at(-1)}</bdi></span>}</td>
    </tr>
  );
}

function Newest({ told }: { told: Invoices }) {
  return (
    <>
      <h3 className="costs-newest">{told.total > told.statements.length ? `The newest ${format.count(told.statements.length)} of ${format.plural(told.total, "statement")}` : format.plural(told.total, "statement")}</h3>
      <div className="costs-scroll" role="region" aria-label="Newest statements" tabIndex={0}>
        <table className="costs-table">
          <thead><tr><th scope="col">Machine</th><th scope="col" className="costs-left">Taken from</th><th scope="col" className="costs-left">For</th><th scope="col"><span data-tip="Interruption and reclamation; never billed">Declared</span></th><th scope="col"><span data-tip="From the decision until the machine was free, and what it cost in that time">Drained for</span></th><th scope="col" className="costs-left"><span data-tip="What would have been done had this machine not been there">Next best choice</span></th></tr></thead>
          <tbody>{told.statements.map((made) => <One key={`${made.shardId} ${made.id}`} made={made} />)}</tbody>
        </table>
      </div>
    </>
  );
}

const Csv = ({ table, by, what }: { table: string; by: By; what: string }) => (
  <a className="button small" href={routeOf("/invoices", { by, table, format: "csv" })} download><Icon name="download" size={14} />{what}</a>
);

export function Statements() {
  const [asked, setBy] = useQueryState("statements", "cluster");
  const [wanted, setMonth] = useQueryState("month");
  const by: By = asked === "team" ? "team" : "cluster";
  const query = { by, limit: SHOWN };
  const loaded = useApi<Invoices>("/invoices", query, { version: useResets(), every: EVERY });
  const missing = loaded.data ? warningsOf(loaded.data) : [];
  const months = loaded.data ? monthsOf(loaded.data) : [];
  const month = months.find((each) => each === wanted) ?? months[0] ?? "";
  return (
    <Card title="Statements: what taken machines were declared to cost" source={{ route: routeOf("/invoices", query).replace(API, ""), command: `bigfleet reports invoices --by ${by}` }} flush>
      <div className="costs-axes costs-statements">
        <Segmented label="Whose months" options={BY} value={by} onChange={setBy} />
        {months.length > 0 && <Select label="Month (UTC)" options={months.map((each) => ({ value: each, text: each }))} value={month} onChange={(next) => setMonth(next === months[0] ? "" : next)} />}
        <span className="dim">Declared dollars, never billed, and never added to prices.</span>
        <span className="costs-tables"><Csv table="months" by={by} what="Months as CSV" /><Csv table="statements" by={by} what="Statements as CSV" /></span>
      </div>
      {missing.length > 0 && <Partial warnings={missing} title="Statements may be missing." />}
      <View of={loaded} height={200} empty={(told) => (told.months.length === 0 ? <Empty title="No machine was taken yet" height={120}><p>Each Preempt and each Reclaim that is complete makes a statement.</p></Empty> : null)}>
        {(told) => <><Months rows={rowsOf(told, month)} by={by} />{told.statements.length > 0 && <Newest told={told} />}</>}
      </View>
    </Card>
  );
}
