// The last decisions about a Need.
import { useApi } from "../../core/api";
import { decisionKey } from "../../core/decisions";
import { askedAt } from "../../core/moments";
import { linkTo, useMoment } from "../../core/router";
import type { Decision } from "../../core/types";
import { Link, Pill } from "../../ui/basics";
import { Empty, View } from "../../ui/states";
import { Ago } from "../../ui/values";

export function NeedHistory({ need }: { need: string }) {
  const moment = useMoment();
  const loaded = useApi<{ decisions: Decision[] }>("/decisions", { need, limit: 8, ...askedAt(moment) }, { every: 10_000 });
  return (
    <View of={loaded} height={60} empty={(data) => (data.decisions.length === 0 ? <Empty title="No decision about it is remembered" height={60}><p>Machines that it has had for long were decided on earlier.</p></Empty> : null)}>
      {(data) => (
        <>
          <ol className="needs-history">
            {data.decisions.map((each) => (
              <li key={decisionKey(each)}>
                <span className="dim"><Ago nanos={each.atUnixNanos} /></span>
                <Link to={linkTo("/decisions", { decision: decisionKey(each) })}><bdi>{each.sentence}</bdi></Link>
                <Pill>{each.kind}</Pill>
              </li>
            ))}
          </ol>
          <Link to={linkTo("/decisions", { need })}>All decisions about it</Link>
        </>
      )}
    </View>
  );
}
