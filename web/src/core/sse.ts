// Server-sent events from a byte stream. Read with fetch rather than EventSource: a resumed
// connection must carry Last-Event-ID after any failure, and retries keep our own pace.

export interface ServerEvent {
  event: string;
  id: string;
  data: string;
}

/** Cuts text, as it arrives, into events. Comments (lines that begin with a colon) only count as a sign of life. */
export class EventCutter {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id = "";

  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.line(line);
      if (event) events.push(event);
    }
    return events;
  }

  private line(line: string): ServerEvent | null {
    if (line === "") {
      const { event, data, id } = this;
      this.event = "";
      this.data = [];
      return data.length > 0 ? { event: event || "message", id, data: data.join("\n") } : null;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
    return null;
  }
}
