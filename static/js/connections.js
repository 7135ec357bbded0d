// Streams share connections. A browser opens six to a server, a page wants a stream or two, and
// there are many tabs: a connection carries the streams of them all, and each message says by
// its first line which of them it belongs to (handlers/live/multiplex.go).

const address = "/streams";
const most = 3; // connections; where one more would be opened, all streams move together
const perConnection = 32; // streams, as the server has it
const gathering = 20; // ms in which streams that are opened share a connection
const leaving = 5000; // ms after which a connection gets rid of streams that nobody reads
const silence = 45000; // ms without a byte, three of the server's heartbeats

// Connections holds the streams that are open. A stream's reader is a function that gets
// { head: { status, headers, body } } once, then { text } for each message, and { end: true }
// at the end. One without a head ended before the server answered.
export class Connections {
  #streams = new Map(); // by id
  #open = new Set(); // connections: { streams, abort }
  #later = null;

  // open opens the stream with an address, from the place last on, for a page of a workspace.
  open(id, { url, last, workspace }, reader) {
    this.#streams.set(id, { id, url, last, workspace, reader, connection: null, answered: false });
    this.#later ??= setTimeout(() => this.#connect(), gathering);
  }

  // close forgets a stream.
  close(id) {
    const connection = this.#streams.get(id)?.connection;
    this.#streams.delete(id);
    if (!connection) return;
    if (!this.#of(connection).length) this.#move(connection);
    else connection.left ??= setTimeout(() => this.#move(connection), leaving);
  }

  #of(connection) {
    return [...this.#streams.values()].filter((stream) => stream.connection === connection);
  }

  // move gives up a connection. Its streams, if it still has some, go on over another one.
  #move(connection) {
    clearTimeout(connection.left);
    this.#open.delete(connection);
    const streams = this.#of(connection);
    for (const stream of streams) stream.connection = null;
    connection.abort.abort();
    if (streams.length) this.#later ??= setTimeout(() => this.#connect(), gathering);
  }

  #connect() {
    if (this.#open.size >= most) [...this.#open].forEach((connection) => this.#move(connection));
    clearTimeout(this.#later);
    this.#later = null;
    const streams = this.#of(null);
    while (streams.length) this.#read(streams.splice(0, perConnection));
  }

  async #read(streams) {
    const connection = { abort: new AbortController(), left: null };
    this.#open.add(connection);
    const query = new URLSearchParams();
    for (const stream of streams) {
      stream.connection = connection;
      query.append("s", stream.url);
      query.append("last", stream.last);
      query.append("in", stream.workspace);
    }
    let refusal = null;
    let timer;
    const awake = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort.abort(), silence);
    };
    try {
      awake();
      const answer = await fetch(`${address}?${query}`, { headers: { "HX-Request": "true" }, cache: "no-store", signal: connection.abort.signal });
      if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) await this.#split(answer.body, streams, connection, awake);
      else refusal = { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
    } catch {
      // The connection broke: whoever reads a stream opens it again.
    }
    clearTimeout(timer);
    if (!this.#open.has(connection)) return; // its streams have moved
    clearTimeout(connection.left);
    this.#open.delete(connection);
    for (const stream of this.#of(connection)) this.#end(stream, refusal);
  }

  // split hands each message to its stream.
  async #split(body, streams, connection, awake) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part; !(part = await reader.read()).done; ) {
      awake();
      const messages = (rest + part.value).split("\n\n");
      rest = messages.pop();
      for (const message of messages) {
        const [, n, text] = /^(?:to: (\d+)\n)?([^]*)$/.exec(message);
        const stream = streams[n];
        if (stream?.connection === connection && this.#streams.get(stream.id) === stream) this.#take(stream, text);
      }
    }
  }

  #take(stream, text) {
    if (text.startsWith("end:")) return this.#end(stream, null);
    if (text.startsWith("head: ")) {
      const head = JSON.parse(text.slice("head: ".length));
      if (head.status !== 200) this.#end(stream, head);
      else if (!stream.answered) stream.reader({ head });
      stream.answered = true;
      return;
    }
    const place = /^id: (.*)$/m.exec(text);
    if (place) stream.last = place[1];
    stream.reader({ text: text + "\n\n" });
  }

  // end ends a stream, that was refused where there is a head. One that was open before just
  // ends: its reader opens it again and is told why it cannot be.
  #end(stream, head) {
    this.#streams.delete(stream.id);
    if (head && !stream.answered) stream.reader({ head });
    stream.reader({ end: true });
  }
}
