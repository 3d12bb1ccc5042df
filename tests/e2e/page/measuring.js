// Runs in the page before it does: hands it answers that were made beforehand, and looks at frames.
(() => {
  const bench = { needs: null, map: null, answeredAt: 0, emit: null };
  window.__bench = bench;
  const plain = window.fetch.bind(window);

  function stream() {
    const body = new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder();
        bench.emit = (event, data) => controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  window.fetch = (input, init) => {
    const address = String(input?.url ?? input);
    if (bench.needs && address.includes("/api/v1/needs?")) {
      bench.answeredAt = performance.now();
      return Promise.resolve(new Response(bench.needs, { headers: { "content-type": "application/json" } }));
    }
    if (bench.map && address.includes("/api/v1/fleet/map")) return Promise.resolve(new Response(bench.map));
    if (bench.map && address.includes("/api/v1/stream")) return Promise.resolve(stream());
    return plain(input, init);
  };

  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))));

  /** The time at which a frame was painted in which this holds. */
  bench.when = async (holds) => {
    const patience = performance.now() + 30_000;
    while (!holds()) {
      if (performance.now() > patience) throw new Error("it did not come in 30 s");
      await new Promise(requestAnimationFrame);
    }
    return painted();
  };

  bench.isReady = () => {
    const main = document.querySelector("main");
    return Boolean(main?.textContent.trim()) && !main.querySelector("[aria-busy=true]");
  };
  // From the very first frame on: a page that is opened cold.
  bench.usableAt = bench.when(bench.isReady);

  bench.go = async (path) => {
    const before = document.querySelector("main h1")?.textContent;
    const began = performance.now();
    document.querySelector(`nav a[href^="${path}"]`).click();
    const heading = () => document.querySelector("main h1")?.textContent;
    const shown = await bench.when(() => location.pathname === path && heading() && heading() !== before);
    const ready = await bench.when(bench.isReady);
    return { shown: shown - began, ready: ready - began };
  };

  bench.makeNeeds = (count) => {
    const states = ["met", "met", "met", "met", "met", "met", "met", "arriving", "blocked", "short"];
    const code = { met: "keep.order", arriving: "flight.creating", blocked: "rail.paused", short: "supply.none" };
    const needStates = { met: 0, arriving: 0, blocked: 0, short: 0 };
    const needs = [];
    for (let n = 0; n < count; n += 1) {
      // In order of precedence; four hundred sets of requirements.
      const state = states[(n * 7) % states.length];
      needStates[state] += 1;
      const satisfied = state === "met" || state === "arriving";
      needs.push({
        clusterId: `cluster-${n % 200}`, needId: `n${n.toString(16).padStart(12, "0")}`,
        priority: 1_000_000 - Math.floor(n / 100), interruptionPenaltyBucket: "4", reclamationPenaltyBucket: "16",
        profileFingerprint: `f${n % 400}`,
        requirements: [
          { key: "topology.kubernetes.io/zone", operator: "In", values: [`zone-${n % 4}`] },
          { key: "node.kubernetes.io/instance-type", operator: "In", values: [`type-${n % 100}`, "m6i.4xlarge"] },
        ],
        aggregateResources: { cpu: `${4 + (n % 60)}`, memory: `${16 + (n % 60)}Gi` }, minUnit: { cpu: "4", memory: "16Gi" },
        satisfied, claimedMachineCount: 1 + (n % 9), bootstrapCount: 0, provisionCount: 0, sameSatisfiable: false,
        acquisitionParked: false, ageCyclesUnmet: satisfied ? 0 : n % 90, unmetReason: satisfied ? "UNSPECIFIED" : "NO_MATCHING_SUPPLY",
        sinceUnixNanos: 1.7e18, reasons: [{ code: code[state], text: `the engine says why: ${code[state]}`, facts: { machines: "3" }, refs: [] }],
        remedy: "", arrivingMachines: state === "arriving" ? 2 : 0, stuckPods: 0, source: ["pod"], eta: null, state,
        ...(satisfied ? {} : { residualDeficit: { cpu: "4" }, matchingSupply: { idle: 3, configured: 40, speculative: 0, capped: false } }),
      });
    }
    const told = { shardId: "shard-0", cycle: 9, computedAtUnixNanos: 1.7e18, totalNeeds: count, matchingNeeds: count, needStates, needs };
    bench.needs = new TextEncoder().encode(JSON.stringify(told));
    return bench.needs.length;
  };

  /** Milliseconds between frames while a box is scrolled by so many pixels in each. */
  bench.scroll = async (selector, step, milliseconds) => {
    const box = document.querySelector(selector);
    const frames = [];
    let last = await new Promise(requestAnimationFrame);
    const until = last + milliseconds;
    while (last < until) {
      box.scrollTop = (box.scrollTop + step) % (box.scrollHeight - box.clientHeight);
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    return frames;
  };

  bench.measures = (name) => performance.getEntriesByName(name, "measure").map((entry) => entry.duration);

  /** Bytes on their way here: of the page's files, and of those its scripts. */
  bench.transfer = () => {
    const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter((entry) => !entry.name.includes("/api/"));
    const size = (some) => some.reduce((sum, entry) => sum + entry.transferSize, 0);
    return { all: size(files), scripts: size(files.filter((entry) => /\.js$/.test(new URL(entry.name).pathname))) };
  };
})();
