import type { PageProps } from "..";
import { MachineDetail } from "./detail";
import { MachineList } from "./list";
import "./machines.css";

export default function MachinesPage({ params }: PageProps) {
  return params.id === undefined ? <MachineList /> : <MachineDetail key={params.id} id={params.id} />;
}
