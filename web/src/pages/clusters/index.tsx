import type { PageProps } from "..";
import { ClusterPage } from "./detail";
import { ClusterListPage } from "./list";
import "./clusters.css";

export default function ClustersPage({ params }: PageProps) {
  return params.id ? <ClusterPage key={params.id} id={params.id} /> : <ClusterListPage />;
}
