/** The invented handbook that the fake service answers from. */

import type { Passage, Ref } from "../src/core";

export const PASSAGES: readonly Passage[] = [
  {
    passageId: "passage-keys",
    documentId: "document-keys",
    title: "Signing keys",
    headingPath: ["Signing keys", "Rotation", "Planned rotation"],
    sourcePath: "handbook/security/signing-keys.md",
    corpusId: "handbook",
    version: 3,
    text: `Planned rotation

A signing key lives for ninety days. Seven days before it expires the
service publishes the next key beside it, so that both can be used to
verify.

Rotate a key by publishing its successor first, waiting until every
verifier has fetched the new key set, and only then signing with it.
Verifiers cache the key set for one hour, so wait at least two.

A retired key stays in the set until the last token that it signed has
expired.`,
  },
  {
    passageId: "passage-emergency",
    documentId: "document-keys",
    title: "Signing keys",
    headingPath: ["Signing keys", "Rotation", "When a key has leaked"],
    sourcePath: "handbook/security/signing-keys.md",
    corpusId: "handbook",
    version: 3,
    text: `When a key has leaked

Remove the key from the set at once; every token it signed becomes
invalid and people must sign in again. Do not wait for verifiers to
refresh: purge their caches with the command below.

    keyring purge --all-regions`,
  },
  {
    passageId: "passage-withdrawn",
    documentId: "document-drill",
    title: "Rotation drill, March",
    headingPath: ["Findings"],
    sourcePath: "handbook/drills/2026-03.md",
    corpusId: "handbook",
    version: 1,
    text: "",
  },
];

/** The passage that the service no longer gives out. */
export const WITHDRAWN = "passage-withdrawn";

const QUOTES = [
  "Rotate a key by publishing its successor first, waiting until every verifier has fetched the new key set, and only then signing with it.",
  "Remove the key from the set at once; every token it signed becomes invalid and people must sign in again.",
  "The drill took eleven minutes.",
];

export const REFS: readonly Ref[] = PASSAGES.map((passage, i) => ({
  n: i + 1,
  passageId: passage.passageId,
  documentId: passage.documentId,
  title: passage.title,
  headingPath: passage.headingPath,
  quote: QUOTES[i] ?? "",
  sourcePath: passage.sourcePath,
}));

export const ANSWER = `Publish the **next key before you sign with it**. The order matters, because verifiers keep a copy of the key set:⟦1⟧

1. Publish the successor beside the current key.
2. Wait until every verifier has fetched the new set. They cache it for an hour, so allow two.⟦1⟧
3. Start signing with the new key, and leave the old one in the set until its last token has expired.

If a key has *leaked*, do the opposite: remove it first. Everyone has to sign in again.⟦2⟧ Purge the caches rather than waiting:

\`\`\`sh
keyring purge --all-regions
\`\`\`

| Rotation | First step | Cost |
| --- | --- | --- |
| Planned | Publish the successor | None |
| Leaked | Remove the key | Everyone signs in again |

In the last drill the whole of this took eleven minutes.⟦3⟧ One more claim was made that no passage bears out.⟦9⟧`;
