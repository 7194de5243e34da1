/** Types of the client; those of the operations are made from the service's OpenAPI document (`types.d.ts`). */

import type { AgentOperations, Assembled, Metadata, Operations, OrgOperations } from "./types.js";

export type * from "./types.js";

/** What `assemble` returns: the service's answer, or the caller's own messages with `metadata.fallback_reason`. */
export type AssembledContext = Omit<Assembled, "metadata"> & { metadata: Partial<Metadata> & Pick<Metadata, "fallback_reason" | "degradation_level"> };

export interface Agent extends Omit<AgentOperations, "assemble" | "export"> {
  /** Returns the messages with what the model needs to know. Never rejects. */
  assemble(args: Parameters<AgentOperations["assemble"]>[0]): Promise<AssembledContext>;
  /** Yields all that this scope can see, one object after the other. */
  export(): AsyncGenerator<Record<string, unknown>>;
}

export interface Options {
  /** API key, `gk_…`. */
  key?: string;
  /** The org; the key's by default. */
  org?: string;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds for any call but `assemble`; 10,000 by default. */
  patience?: number;
  /** Allows a key over http to another machine, on a network that is trusted. */
  plaintext?: boolean;
}

export declare class GermaneError extends Error {
  /** What it is, such as `not-found`, `invalid-input` or `unavailable`. */
  kind: string;
  /** The HTTP status; 0 where there was no answer. */
  status: number;
  /** The argument's place, such as `messages[3].role`. */
  path: string;
  /** What to do. */
  advice: string;
}

export declare class Germane {
  constructor(url: string, options?: Options);
  /** The handle on an agent. `limit` bounds `assemble`, in milliseconds; 45 by default. */
  agent(name?: string, scope?: { user?: string; zone?: string; limit?: number }): Agent;
  /** The operations on the whole org. */
  get org(): OrgOperations;
}

export type { Operations };
