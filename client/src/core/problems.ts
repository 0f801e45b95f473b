/** What can go wrong between the page and the service, as one typed error. */

/** A refusal by the service, or no answer from it at all (`status` 0). */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  /** Stable name of the failure, such as `not_found`; `unreachable` when there was no answer. */
  readonly code: string;
  readonly status: number;
  /** The service's own sentence, fit to be shown; empty if it gave none. */
  readonly detail: string;
  /** What to quote to support, if the service gave it. */
  readonly reference: string | null;
  /** Seconds to wait before trying again, if the service said so. */
  readonly retryAfterS: number | null;

  constructor(fields: {
    code: string;
    status: number;
    detail?: string;
    reference?: string | null;
    retryAfterS?: number | null;
    cause?: unknown;
  }) {
    super(fields.detail ?? fields.code, { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status;
    this.detail = fields.detail ?? "";
    this.reference = fields.reference ?? null;
    this.retryAfterS = fields.retryAfterS ?? null;
  }
}

/** The problem for a request that got no answer. */
export function unreachable(cause: unknown): ApiProblem {
  return new ApiProblem({ code: "unreachable", status: 0, cause });
}

/** Read a failed response; anything but problem+json still gives a problem with its status. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const body = await readBody(response);
  return new ApiProblem({
    code: text(body.code) ?? `http_${response.status}`,
    status: response.status,
    detail: text(body.detail) ?? text(body.title) ?? "",
    reference: text(body.reference),
    retryAfterS: readRetryAfter(response.headers.get("retry-after")),
  });
}

async function readBody(response: Response): Promise<Record<string, unknown>> {
  if (!(response.headers.get("content-type") ?? "").includes("json")) return {};
  const body: unknown = await response.json().catch(() => null);
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
}

/** Retry-After is a number of seconds or a date. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
