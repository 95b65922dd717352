/** A request that was answered with a problem document, or not at all. */
export class Problem extends Error {
  constructor(kind, detail, retryAfter = null, quota = null) {
    super(detail);
    this.kind = kind;
    this.retryAfter = retryAfter;
    this.quota = quota; // whose is used up, for the kind quota-exceeded
  }

  static async of(response) {
    let document = {};
    try {
      document = await response.json();
    } catch {
      // A gateway may answer with a page.
    }
    const kind = String(document.type ?? "").split(":").pop() || `http-${response.status}`;
    return new Problem(kind, document.detail ?? `HTTP ${response.status}`, response.headers.get("Retry-After"), document.quota);
  }
}
