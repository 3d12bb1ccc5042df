// Actions per minute by kind, stacked.
import { useApi } from "../../core/api";
import { known } from "../../core/format";
import { resets } from "../../core/live";
import { categorical, shown } from "../../core/palette";
import { useStore } from "../../core/store";
import { Card } from "../../ui/card";
import { Chart, Legend, type Series } from "../../ui/charts";
import { Empty, View } from "../../ui/states";

interface Actions {
  timestamps: number[];
  kinds: string[];
  values: (number | null)[][];
}

/** Without the time before anything was counted. */
function sinceFirst({ timestamps, kinds, values }: Actions): Actions {
  const first = Math.max(0, timestamps.findIndex((_, index) => values.some((column) => known(column[index]))));
  return { timestamps: timestamps.slice(first), kinds, values: values.map((column) => column.slice(first)) };
}

const rate = (value: number): string => `${value >= 10 ? Math.round(value).toLocaleString("en-US") : Number(value.toFixed(1))}/min`;

export function ActionsCard({ live, duration, step }: { live?: Record<string, number>; duration: string; step: string }) {
  const version = useStore(resets);
  useStore(shown);
  const loaded = useApi<Actions>("/fleet/actions", { duration, step }, { version, every: 15_000 });
  const now = Object.entries(live ?? {}).filter(([, value]) => value > 0);
  const said = live === undefined ? "" : now.length > 0 ? now.map(([kind, value]) => `${kind} ${rate(value)}`).join(" · ") : "none in the last minute";
  return (
    <Card
      title="Actions per minute"
      source={{ route: "/fleet/actions", promql: "sum by (kind) (rate(bigfleet_shard_actions_total[1m])) * 60" }}
      actions={<span className="actions-now dim" data-tip={said}>{said}</span>}
    >
      <View
        of={loaded}
        height={160}
        empty={(data) => (sinceFirst(data).timestamps.length < 2 || data.kinds.length === 0 ? <Empty title="No actions in this time" height={160}><p>The fleet fits its demand; machines move when one of them changes.</p></Empty> : null)}
      >
        {(all) => {
          const data = sinceFirst(all);
          const series: Series[] = data.kinds.map((kind, index) => ({
            label: kind,
            colour: categorical(index),
            points: (data.values[index] ?? []).map((value) => (known(value) ? value * 60 : null)),
          }));
          return (
            <>
              <Chart label="Actions per minute" times={data.timestamps} series={series} format={rate} height={130} stacked />
              <Legend series={series} format={rate} />
            </>
          );
        }}
      </View>
    </Card>
  );
}
