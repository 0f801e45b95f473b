/** Names the requirements that a test proves, for the traceability report; does nothing else. */
export function req(...ids: readonly `${string}-${string}-${number}`[]): readonly string[] {
  return ids;
}
