// Why this machine is as it is, and why not otherwise: the engine's own answers.
import { useState } from "react";
import { useApi } from "../../core/api";
import { askedAt, flagsAt } from "../../core/moments";
import { useMoment } from "../../core/router";
import { Button, Command, Pill } from "../../ui/basics";
import { Card } from "../../ui/card";
import { Icon } from "../../ui/icons";
import { View } from "../../ui/states";

interface Step {
  phase: string;
  text: string;
}
interface WhyMachine {
  cycle?: string;
  cycleName?: string;
  sentence: string;
  steps?: Step[];
  warnings?: string[];
}
interface Check {
  name: string;
  passed: boolean;
  expected: string;
  actual: string;
}
interface WhyNotAnswer {
  cycle?: string;
  sentence: string;
  blocking?: Check | null;
  checks?: Check[];
  wouldChange?: string[];
}

export function WhyCard({ id }: { id: string }) {
  const moment = useMoment();
  const [numbers, setNumbers] = useState(false);
  const command = `bigfleet why machine/${id}${flagsAt(moment)}`;
  const loaded = useApi<WhyMachine>("/why", { object: `machine/${id}`, ...askedAt(moment) }, { every: moment === null ? 10_000 : undefined });
  return (
    <Card title="Why it is here" source={{ route: `/why?object=machine/${id}`, command }}>
      <View of={loaded} height={120}>
        {(why) => (
          <div className="machine-why">
            <p className="machine-why-sentence"><bdi>{why.sentence}</bdi></p>
            <p className="row"><Pill>cycle {why.cycleName ?? why.cycle ?? "unknown"}</Pill><Button small aria-expanded={numbers} onClick={() => setNumbers(!numbers)}>{numbers ? "Hide numbers" : "Show numbers"}</Button></p>
            {numbers && <ol className="machine-steps">{(why.steps ?? []).map((step) => <li key={step.phase + step.text}><b>{step.phase}</b><bdi>{step.text}</bdi></li>)}</ol>}
            <Command text={command} />
          </div>
        )}
      </View>
    </Card>
  );
}

function Checks({ checks }: { checks: readonly Check[] }) {
  return (
    <ul className="machine-checks">
      {checks.map((check) => (
        <li key={check.name} className={check.passed ? "passed" : "failed"}>
          <Icon name={check.passed ? "check" : "close"} size={14} />
          <span><b>{check.name}</b><span className="sr-only">{check.passed ? " holds" : " fails"}</span></span>
          <span className="dim">wanted: <bdi>{check.expected}</bdi>; is: <bdi>{check.actual}</bdi></span>
        </li>
      ))}
    </ul>
  );
}

export function WhyNotCard({ id }: { id: string }) {
  const moment = useMoment();
  const [text, setText] = useState("");
  const [need, setNeed] = useState("");
  const versus = need ? (need.startsWith("need/") ? need : `need/${need}`) : "";
  const command = `bigfleet why-not machine/${id}${versus ? ` --for ${versus}` : ""}${flagsAt(moment)}`;
  const loaded = useApi<WhyNotAnswer>("/why", versus ? { object: `machine/${id}`, versus, ...askedAt(moment) } : { object: `machine/${id}`, not: true, ...askedAt(moment) });
  return (
    <Card title={versus ? "Why it does not serve that Need" : "Why it is still here"} source={{ route: `/why?object=machine/${id}&not=true`, command }}>
      <form className="row machine-versus" onSubmit={(event) => { event.preventDefault(); setNeed(text.trim()); }}>
        <label className="select"><span>Why not for</span><input className="field" value={text} placeholder="need/shop/n3f9c" maxLength={300} spellCheck={false} onChange={(event) => setText(event.target.value)} /></label>
        <Button small type="submit">Ask</Button>
        {need && <Button small kind="ghost" onClick={() => { setNeed(""); setText(""); }}>Clear</Button>}
      </form>
      <View of={loaded} height={130}>
        {(answer) => (
          <div className="machine-why">
            <p className="machine-why-sentence"><bdi>{answer.sentence}</bdi></p>
            {answer.checks && <Checks checks={answer.checks} />}
            {(answer.wouldChange?.length ?? 0) > 0 && <p><b>What would change it:</b> <bdi>{answer.wouldChange?.join("; ")}</bdi></p>}
            <Command text={command} />
          </div>
        )}
      </View>
    </Card>
  );
}
