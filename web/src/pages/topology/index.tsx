// Who decides where: the coordinator, shards and their providers, and what holds actions back.
import type { PageProps } from "..";
import { ShardPage } from "./shard";
import { TopologyOverview } from "./fleet";
import "./topology.css";

export default function TopologyPage({ params }: PageProps) {
  return params.id ? <ShardPage id={params.id} /> : <TopologyOverview />;
}
