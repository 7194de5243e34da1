// Made by tools/typescript.py from the OpenAPI document. To change it, run "make twins".

/** Why a request was refused (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** The argument's place, such as `messages[3].role`. */
  path?: string;
  /** What to do. */
  advice?: string;
}

/** A context without its trace. `messages` and `system` are for the model; `items` are what was added, in their order. */
export interface Assembled {
  messages: Array<Record<string, unknown>>;
  system: unknown;
  items: Array<KnownThing>;
  metadata: Metadata;
}

/** One memory or message in a text: its id, its handle there, what is shown of it, and the fraction (`share`) of the original that this is. `tokens` are those of its line. `speaker` and `role` are those of a message, "" where nobody is named. */
export interface KnownThing {
  id: string;
  handle: string;
  text: string;
  category: string;
  tokens: number;
  share: number;
  created_at: string;
  session: string | null;
  speaker: string;
  role: string;
}

/** What was injected, and why there may be less than there could be (INJECT-3). */
export interface Metadata {
  directive_injected: boolean;
  memories_injected: number;
  memories_available: number;
  total_tokens_injected: number;
  context_window_used: number;
  was_truncated: boolean;
  fallback_reason: string;
  memory_ids: Array<string>;
  degradation_level: number;
  sources: Array<SourceReport>;
  timings: Array<[string, number]>;
  cached: boolean;
  warnings: Array<string>;
  need: number | null;
  need_threshold: number | null;
  earlier_tokens: number;
  profile_tokens: number;
  history: HistoryReport | null;
  thinking_prefix_changed: boolean;
}

/** How one source did (GATHER-2). */
export interface SourceReport {
  name: string;
  status: "ok" | "timeout" | "error" | "skipped";
  reason: string;
  latency: number;
  found: number;
}

/** `tokens_before` and `tokens` are those of the messages with tools, of which there may be `max_tokens`; `fits` is false only where what may not be lost takes more. `masked` are tool outputs that a line stands for, `summarised` and `dropped` messages that left with and without a summary, `quarantined` messages whose call or result has lost its other half. `moves` counts how often the boundaries have moved: between two moves the prefix stays byte for byte. The newest one saved `saved_tokens` and made the provider read `cache_lost_tokens` anew; it has paid for itself after `pays_after` calls, None where no price is known. `cited` are the handles that bring back what left; `reasons` say what couldn't be done. */
export interface HistoryReport {
  tokens_before: number;
  tokens: number;
  max_tokens: number;
  fits: boolean;
  masked: number;
  summarised: number;
  dropped: number;
  quarantined: number;
  moves: number;
  saved_tokens: number;
  cache_lost_tokens: number;
  pays_after: number | null;
  cited: Array<string>;
  reasons: Array<string>;
}

/** `exact` tells whether this is the model's own count; else it is an upper estimate. `tokenizer` is what counted. */
export interface TokenCount {
  tokens: number;
  exact: boolean;
  tokenizer: string;
}

/** `tokens` are those of `text`, `original_tokens` those of what was given, as the model counts them or by an upper estimate. `method` is `whole` where nothing had to be done, `extractive` for sentences of the text itself, `llm` for what a language model wrote. `share` is the length of `text` over that of the original, in [0, 1]. `note` says why a language model's answer wasn't used. */
export interface CompressedText {
  text: string;
  tokens: number;
  original_tokens: number;
  method: "whole" | "extractive" | "llm";
  share: number;
  note: string;
}

/** `added` are germane's ids of the new events, in order. `skipped` counts the messages that were stored before or are never stored (system messages and empty ones). `secrets` counts the secrets in the new messages, by kind. */
export interface Recorded {
  added: Array<string>;
  skipped: number;
  secrets: Record<string, number>;
  extracted: Array<string>;
  assumed_resent: number;
  assumed_new: Array<string>;
}

/** What one run of a worker, or a worker since its start, has done. `messages` were read, `memories` stored, `entities` found (each once in a message), `rejected` not accepted of the answers; `ended` counts memories and messages of which something no longer holds. `failed` counts calls that will be tried again, `parked` those that won't. `stopped` says why a run ended before the queue was empty, without any content. Of a run that was asked for, `waiting` are the messages that were to be read, and `characters` their length. */
export interface ExtractionRun {
  waiting: number;
  characters: number;
  messages: number;
  memories: number;
  ended: number;
  entities: number;
  rejected: number;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  failed: number;
  parked: number;
  stopped: string;
}

/** One memory as stored (MEM-2). `user` None means agent-wide. Times are aware, in UTC. */
export interface Memory {
  id: string;
  kind: string;
  content: (Fact & {
    "$type": "Fact";
  }) | (Preference & {
    "$type": "Preference";
  }) | (Procedure & {
    "$type": "Procedure";
  }) | (Behavior & {
    "$type": "Behavior";
  }) | (Episode & {
    "$type": "Episode";
  }) | (Note & {
    "$type": "Note";
  });
  user: string | null;
  created_at: string;
  updated_at: string;
  valid_from: string;
  valid_to: string | null;
  expires_at: string | null;
  superseded_by: string | null;
  derived_from: Array<string>;
  stale_since: string | null;
  tags: Array<string>;
  sensitivity: "public" | "private" | "sensitive";
  confidence: number;
  pinned: boolean;
  helpful: number;
  harmful: number;
  retrieval_count: number;
  content_hash: string;
  provenance: Provenance;
  secrets: Record<string, number>;
  near_duplicates: Array<string>;
}

/** A named value: `value` is any JSON value, `key` its name. Of several facts with one key, the newest is valid. */
export interface Fact {
  key: string;
  value: unknown;
  observed_at: string | null;
}

/** What a user prefers. */
export interface Preference {
  text: string;
}

/** How something is done. */
export interface Procedure {
  body: string;
  title: string;
}

/** How the agent is to behave. */
export interface Behavior {
  text: string;
}

/** Something that happened. */
export interface Episode {
  summary: string;
  occurred_at: string | null;
}

/** Anything else. */
export interface Note {
  body: string;
  title: string;
}

/** Where a memory or message came from. `message_id` and `tool_call_id` are the caller's own ids. */
export interface Provenance {
  source_kind: "user" | "operator" | "tool" | "system" | "import";
  channel: string | null;
  session: string | null;
  message_id: string | null;
  tool_call_id: string | null;
  refs: Array<string>;
  metadata: Record<string, unknown>;
}

/** The ids that were forgotten or, after a dry run, that would be. Forgetting the same again returns a receipt without ids, whose `matched` is false. `str` says in a sentence what was forgotten. */
export interface Receipt {
  memory_ids: Array<string>;
  event_ids: Array<string>;
  block_ids: Array<string>;
  graph_ids: Array<string>;
  task_ids: Array<string>;
  compaction_ids: Array<string>;
  dry_run: boolean;
  scrubbed: boolean;
  waiting_for: string;
  checked: Array<string>;
}

/** What a consolidation did or, after a dry run, would do. `after` of a dry run is estimated. `fits` is false where the budget can't be kept without touching what is pinned, preferences, or behaviors. Messages are never touched. `scrubbed` and `waiting_for` tell whether what was forgotten is gone from the files, as in `Receipt`. */
export interface Consolidated {
  before: Holdings;
  after: Holdings;
  merged: Array<Merged>;
  compressed: Array<Compressed>;
  vectors_dropped: Array<string>;
  evicted: Array<Eviction>;
  fits: boolean;
  dry_run: boolean;
  scrubbed: boolean;
  waiting_for: string;
}

/** How many memories there are, and their bytes; `kinds` is their number by kind. */
export interface Holdings {
  memories: number;
  bytes: number;
  kinds: Record<string, number>;
}

/** `kept` says what `ids` said too; these are forgotten. */
export interface Merged {
  kept: string;
  ids: Array<string>;
}

/** The episodes `ids`, oldest first, become one note of their first sentences. `note` is its id; '' before it is made. */
export interface Compressed {
  ids: Array<string>;
  note: string;
}

/** `reason` is `ended` (superseded or expired), or `least_valuable` of its kind, with its `worth`. */
export interface Eviction {
  id: string;
  kind: string;
  reason: string;
  worth: number;
}

/** `type` is `user_message`, `assistant_message`, `system_message`, `tool_message`, or any other event type; `document` is a passage of a document, whose positions leave gaps. */
export interface Event {
  id: string;
  type: string;
  user: string | null;
  session: string;
  position: number;
  text: string;
  created_at: string;
  recorded_at: string;
  role: string;
  name: string;
  message_id: string | null;
  sensitivity: "public" | "private" | "sensitive";
  outcome: string;
  task: string | null;
  content_hash: string;
  session_started_at: string | null;
  session_number: number | null;
  raw: Record<string, unknown>;
  provenance: Provenance;
  passage: [number, number, number, boolean] | null;
  outdated: Array<[string, Array<string>]>;
  replaces: Array<[string, boolean]>;
  replaced_by: Array<[string, boolean]>;
  newer: Array<Event>;
}

/** What a session that begins at this time is shown whatever it asks, where the strategy is `default`: `lines` in the order in which they are written, within `budget` tokens. `tokens` is what they take, their headers included. `text` is all of them as a prompt holds them: data between germane's own tags; empty where there is no line. `left_out` are lines that could have stood. */
export interface ProfileView {
  lines: Array<ViewedLine>;
  left_out: Array<ViewedLine>;
  tokens: number;
  budget: number;
  text: string;
}

/** A line of a profile. `why` says where it comes from, `worth` in [0, 1] orders the lines of one kind; `tokens` is its cost as written, with the header that it is the first below; None where it wasn't counted. `memory` is the id of the memory that it is, `message` that of the message in which it was found. `reason` is empty for a line that stands, else why it doesn't: `budget`, `duplicate` (another line says the same), `hidden`, or a reason of the trace. */
export interface ViewedLine {
  id: string;
  kind: "about" | "instruction";
  text: string;
  why: string;
  worth: number;
  said_at: string;
  tokens: number | null;
  pinned: boolean;
  memory: string | null;
  message: string | null;
  reason: string;
}

/** `memories` and `messages` were examined. `counts` has the number of findings of each kind; `findings` holds at most so many of each as were asked for. */
export interface Audit {
  memories: number;
  messages: number;
  counts: Record<string, number>;
  findings: Array<AuditFinding>;
}

/** `ids` are the memories (or, for a secret, the message) that it is about; `detail` names no content: the kinds of secrets, the reason of a contradiction, since when something is stale or expired. */
export interface AuditFinding {
  kind: "duplicate" | "near_duplicate" | "contradiction" | "secret" | "never_retrieved" | "stale" | "expired";
  ids: Array<string>;
  detail: string;
}

/** One page of a listing of messages. `cursor` continues the listing; None on the last page. */
export interface MessagePage {
  messages: Array<Event>;
  cursor: string | null;
}

/** One page of a listing of sessions. `cursor` continues the listing; None on the last page. */
export interface SessionPage {
  sessions: Array<Session>;
  cursor: string | null;
}

/** One conversation of one user (None: agent-wide) with one agent. `number` counts the sessions of the scope from 1, in the order of their beginning; `length` is the number of events. */
export interface Session {
  id: string;
  user: string | null;
  number: number;
  started_at: string;
  last_at: string;
  length: number;
}

/** One page of an agent's users. `cursor` continues the listing; None on the last page. */
export interface UserPage {
  users: Array<UserSummary>;
  cursor: string | null;
}

/** One user of an agent, and how much is stored for it: `memories` (those that ended included), `messages` in `sessions`. `last_at` is the time of the latest of them; None for a user with a directive only. */
export interface UserSummary {
  user: string;
  memories: number;
  messages: number;
  sessions: number;
  last_at: string | null;
}

/** What one scope sees, counted. `memories` counts those that are valid now, by kind; `ended` those that were superseded or are no longer valid. `events` counts what was recorded beside `messages`. `blocks` and `archival_entries` count what isn't deleted, `relations` also those that ended; `documents` and their `passages` are no sessions, messages or events. `users` counts the agent's users; None for the scope of a user. `text_bytes` are those of the texts, in UTF-8, and `pending_vectors` the texts that have no vector yet. `oldest` and `newest` are the times of the first and the last memory or message; None where there is none. `extracted` counts those of `memories` that were found in messages, by `rules` or by a language model (`llm`). */
export interface Stats {
  memories: Record<string, number>;
  ended: number;
  pinned: number;
  messages: number;
  events: number;
  sessions: number;
  users: number | null;
  text_bytes: number;
  pending_vectors: number;
  blocks: number;
  archival_entries: number;
  documents: number;
  passages: number;
  entities: number;
  relations: number;
  patterns: number;
  tasks: number;
  archived: number;
  summaries: number;
  outline_lines: number;
  telling_clauses: number;
  profile_marks: number;
  oldest: string | null;
  newest: string | null;
  extracted: Record<string, number>;
}

/** One page of an org's agents. `cursor` continues the listing; None on the last page. */
export interface AgentPage {
  agents: Array<AgentSummary>;
  cursor: string | null;
}

/** One agent of an org, and how much is stored for it, agent-wide and for its users together. */
export interface AgentSummary {
  agent: string;
  users: number;
  memories: number;
  messages: number;
}

/** `score` is in [0, 1]. `log_odds` is the score before the logistic function in the log-odds form, else ln(score). */
export interface Scored {
  candidate: Candidate;
  score: number;
  log_odds: number;
  breakdown: Breakdown;
  rank: number;
}

/** What a source offers. `category` is the section that it is written in: block, procedural, factual, preference, behavioral, episodic, archival, conversation, or any other. `kinds` choose its half-life; of several the shortest counts. `confidence` is in [0, 1]. */
export interface Candidate {
  id: string;
  source: string;
  category: string;
  text: string;
  created_at: string;
  kinds: Array<string>;
  evidence: Evidence;
  confidence: number;
  helpful: number;
  harmful: number;
  retrievals: number;
  sensitivity: "public" | "private" | "sensitive";
  required: boolean;
  speaker: string;
  role: string;
  event_type: string;
  outcome: string;
  task: string | null;
  title: string;
  session: string | null;
  session_started_at: string | null;
  session_number: number | null;
  position: number;
  content_hash: string;
  stale_since: string | null;
  near_duplicates: Array<string>;
  also: Array<string>;
  provenance: Provenance;
  passage: [number, number, number, boolean] | null;
  outdated: [string, Array<string>] | null;
  replaced_by: Array<[string, boolean]>;
  newer: Array<Candidate>;
  block: BlockText | null;
  graph: GraphItem | null;
  line: ProfileLine | null;
}

/** One number a feature. Pass them by name; only `of`, which makes hundreds, passes them in the order of `FEATURES`. A named tuple, because making one takes a tenth of the time of a dataclass. */
export interface Evidence {
  own: number;
  window: number;
  session: number;
  before: number;
  after: number;
  cos_own: number | null;
  cos_window: number | null;
  around: number;
  neighbours: number;
  soft: number | null;
  phrase: number;
  speaker: number;
  month: number;
  day: number;
  temporal: number;
  capitals: number;
  opening: number;
  answers: number;
  question: number;
  user: number;
  length: number;
  assistant: number;
  crowd: number;
  terms: number;
  identifier: number;
  curated: number;
  structured: number;
  history: number;
  recent: number;
  day_asked: number;
  outline: number;
}

/** `text` is the rendered content; `permission` is shown as it is (`ReadOnly` … `Admin`). `shared_from` is the agent that owns the block, None for one of the reader's own. `schema` is shown on request only. `id` and `label` are what a reference may name. */
export interface BlockText {
  id: string;
  label: string;
  type: "core" | "working" | "archival" | "log";
  text: string;
  description: string;
  permission: string;
  shared_from: string | null;
  pinned: boolean;
  schema: string;
}

/** What a candidate of the graph has besides a text. `prior` is P(relevant) by what the graph says, in [0, 1): it is combined with what the evidence says by noisy-or. `salience`, in [0, 1], stands for usefulness, which no feedback tells of such an item (SCORE-4). */
export interface GraphItem {
  shown: EntityText | RelationText | PatternText;
  prior: number;
  salience: number;
}

/** An entity as it is shown. `properties` are names with values, in the order in which they are written. */
export interface EntityText {
  type: string;
  name: string;
  properties: Array<[string, string]>;
}

/** A relation as it is shown: `source` and `target` are names. `valid_to` is set where it has ended, or will. */
export interface RelationText {
  source: string;
  type: string;
  target: string;
  valid_from: string | null;
  valid_to: string | null;
}

/** A pattern as it is shown: `action` is what to do; it worked `successes` times of `applications`. */
export interface PatternText {
  action: string;
  successes: number;
  applications: number;
}

/** `id` is the memory's, or the name of a clause (`kinds/profile/reads.py`). `worth`, in [0, 1], orders the lines of one kind; `why` says in words where it comes from. `stated` lines were remembered on purpose; the others were found in the message `origin` (germane's id), and `core` is what they say of it: a fact's value, else the text. `replaces` are the lines in whose place it stands. `speaker` is the name under which it was said, where there is one. */
export interface ProfileLine {
  id: string;
  kind: "about" | "instruction";
  text: string;
  worth: number;
  said_at: string;
  why: string;
  stated: boolean;
  origin: string;
  core: string;
  pinned: boolean;
  replaces: Array<string>;
  speaker: string;
}

/** The parts of a score, each in [0, 1] (SCORE-6). */
export interface Breakdown {
  relevance: number;
  recency: number;
  usefulness: number;
  confidence: number;
  frequency: number;
}

/** What is known about a name, as `germane.Agent.about` says it, without its trace: `current` holds at the time asked about, `earlier` ended before it, `mentions` are the messages that name it. `text` is all of them, ready for a prompt. */
export interface KnownAbout {
  name: string;
  current: Array<KnownThing>;
  earlier: Array<KnownThing>;
  mentions: Array<KnownThing>;
  text: string;
  tokens: number;
  left_out: number;
  hints: Array<string>;
}

/** A context as `germane.Agent.build` builds it: `content` for a prompt, `token_count` of it, and what it is made of. `strategy` is the name of the strategy; `fallback_reason` is empty when all went well. `considered` is what was found, in and out, where the call asked for that, at most 100 things; `unlisted` counts the others. */
export interface RemoteContext {
  content: string;
  components: Array<RemoteComponent>;
  token_count: number;
  truncated: boolean;
  strategy: string;
  events_considered: number;
  entities_considered: number;
  chunks_considered: number;
  assembly_ms: number;
  fallback_reason: string;
  degradation_level: number;
  considered: Array<ConsideredThing>;
  unlisted: number;
}

/** One item of a built context. `source` is its id, `content` what is shown of it, `tokens` are those of its line. */
export interface RemoteComponent {
  type: string;
  source: string;
  content: string;
  tokens: number;
  relevance_score: number;
  handle: string;
  share: number;
}

/** One thing that a search found, and what became of it: `outcome` says whether it went in, `reason` is the code of why it didn't, `said` the same as a sentence. `text` is the beginning of its text, "" where that may not be shown or nobody read it; `share` is the fraction of it that went in. `score` is the probability that the question needs it, `breakdown` its parts, None for what nobody read. `found_by` are the sources that offered it. */
export interface ConsideredThing {
  id: string;
  category: string;
  outcome: "in" | "out" | "unread";
  reason: string;
  said: string;
  text: string;
  handle: string;
  share: number;
  tokens: number | null;
  rank: number;
  score: number;
  breakdown: Breakdown | null;
  found_by: Array<string>;
  created_at: string | null;
  session: string | null;
  speaker: string;
  role: string;
}

/** The memories that matter for a question, as `germane.Agent.digest` says it, without its trace: `text` is the prompt part and `status` is empty where it is a list, else the reason why there is none. */
export interface RemoteDigest {
  text: string;
  status: string;
  items: Array<KnownThing>;
  tokens: number;
}

/** `id` is the whole id, or what was asked for where nothing has it. `reason` is a code, such as a left-out candidate's reason or the name of the filter, and `text` the sentence for a person. `rank` counts from 1: over all candidates for what was one, else over all that is stored of its sort. `probability` is P(relevant) in [0, 1]; `tokens` its cost. `at` is when it was forgotten or ended. */
export interface Why {
  id: string;
  outcome: "injected" | "stands" | "left_out" | "unread" | "in_request" | "filtered" | "ended" | "not_searched" | "not_reached" | "forgotten" | "absent";
  text: string;
  reason: string;
  rank: number | null;
  probability: number | null;
  tokens: number | null;
  at: string | null;
}

/** A request for the provider's SDK, as the service has built it. `metadata` are the fields of `BuildMetadata` as JSON, `estimated_tokens` those of the whole request, `faults` the parts that are missing, with the reason. */
export interface RemoteRequest {
  provider: string;
  kwargs: Record<string, unknown>;
  metadata: Record<string, unknown>;
  estimated_tokens: number;
  faults: Array<string>;
}

/** What the rules say of the calls of one batch, in order, and of the turn: `state` goes into the next call, and belongs where the agent can't write. `next_step` is None where no rule says what follows; `owed` is due before the turn ends. */
export interface CheckedCalls {
  verdicts: Array<Allow | Refuse | AskConsent>;
  state: string;
  next_step: "end" | "continue" | null;
  owed: Array<Owed>;
  may_exit: boolean;
}

/** The call may be made. `unpaid` is what the turn owes and can't be paid any more, where this call ends the turn. */
export interface Allow {
  unpaid: Array<Owed>;
}

/** A tool that the rules demand before the turn ends. `obstacle` says why it can't be called any more in this turn; it is empty where it can, and only then the turn may not end. */
export interface Owed {
  tool: string;
  reason: string;
  rule: StartWith | EndsTurn | ContinuesTurn | MaxCalls | RequiresPrior | FollowedBy | RequiredBeforeExit | ToolCooldown | ExclusiveGroup | Periodic | RequiresConsent | AllowedOperations;
  obstacle: string;
}

/** `tool` must be called before any other tool of the turn, and in an earlier batch. */
export interface StartWith {
  kind: "start";
  tool: string;
}

/** The turn ends after a call of `tool`. */
export interface EndsTurn {
  kind: "ends";
  tool: string;
}

/** The turn goes on after a call of `tool`: the model is asked again. */
export interface ContinuesTurn {
  kind: "continues";
  tool: string;
}

/** `tool` may be called at most `count` times in a turn. */
export interface MaxCalls {
  kind: "max_calls";
  tool: string;
  count: number;
}

/** `tool` may be called only after `prior` was called in an earlier batch of the turn. */
export interface RequiresPrior {
  kind: "requires_prior";
  tool: string;
  prior: string;
}

/** After `tool` was called, `then` must be called in a later batch before the turn ends. */
export interface FollowedBy {
  kind: "followed_by";
  tool: string;
  then: string;
}

/** `tool` must be called in every turn before it ends. */
export interface RequiredBeforeExit {
  kind: "required_before_exit";
  tool: string;
}

/** Between two calls of `tool` at least `seconds` pass, or, with `turns`, it is called at most once in that many turns in a row. Exactly one of the two is given. */
export interface ToolCooldown {
  kind: "cooldown";
  tool: string;
  seconds: number | null;
  turns: number | null;
}

/** Of these tools only one may be called in a turn, as often as its other rules allow. */
export interface ExclusiveGroup {
  kind: "exclusive";
  tools: Array<string>;
}

/** `tool` must be called at least once in `turns` turns: in the last of them it is due before the turn ends. */
export interface Periodic {
  kind: "periodic";
  tool: string;
  turns: number;
}

/** Each call of `tool` needs the consent of `of`: the partner (the agent's owner) or a human. */
export interface RequiresConsent {
  kind: "consent";
  tool: string;
  of: "partner" | "human";
}

/** `tool` may be called only with a string of `allowed` as its argument `argument`. */
export interface AllowedOperations {
  kind: "allowed_operations";
  tool: string;
  allowed: Array<string>;
  argument: string;
}

/** The call may not be made. `reason` says why and what to do, in words for the model; `rule` is None where the turn has ended. */
export interface Refuse {
  reason: string;
  rule: StartWith | EndsTurn | ContinuesTurn | MaxCalls | RequiresPrior | FollowedBy | RequiredBeforeExit | ToolCooldown | ExclusiveGroup | Periodic | RequiresConsent | AllowedOperations | null;
}

/** The call may be made once `of` (`partner` or `human`) consents: `ToolRules.approve` tells the rules. */
export interface AskConsent {
  of: "partner" | "human";
  reason: string;
  rule: StartWith | EndsTurn | ContinuesTurn | MaxCalls | RequiresPrior | FollowedBy | RequiredBeforeExit | ToolCooldown | ExclusiveGroup | Periodic | RequiresConsent | AllowedOperations;
}

/** One task given to another agent, as a client of the service gets it. `messages` are what the other agent's model gets, and `system` its system prompt where the provider keeps that apart. `frame` is the task in the delegating stack; its `child_session` is the session that the other agent works in, and `allowed` the sensitivities that it may see. `explanation` says what it gets and why. */
export interface RemoteDelegation {
  frame: TaskFrame;
  messages: Array<Record<string, unknown>>;
  system: unknown;
  tokens: number;
  explanation: string;
}

/** `result` is what came of the task once it is closed; of a blocked one, what it waits for. `depth` counts from 0, the root's. `children` are the ids of the frames below it, at most 1,000, the oldest first. `version` rises with each change. A frame that was given to another agent has its `mode` (`delegated`), the `child_session` that this agent works in, how many delegations lie above it (`delegation_depth`, from 1), and the sensitivities that it may see (`allowed`). */
export interface TaskFrame {
  id: string;
  session: string;
  goal: string;
  parent: string | null;
  branch: string;
  depth: number;
  status: "active" | "complete" | "blocked" | "failed";
  result: string | null;
  artifacts: Array<TaskArtifact>;
  children: Array<string>;
  user: string | null;
  sensitivity: "public" | "private" | "sensitive";
  provenance: Provenance;
  version: number;
  delegated: "isolated" | "fork" | "brief" | null;
  child_session: string | null;
  delegation_depth: number;
  allowed: Array<"public" | "private" | "sensitive">;
  created_at: string;
  updated_at: string;
  closed_at: string | null;
  secrets: Record<string, number>;
}

/** A pointer to something stored that a task made or used: a message or event, a memory, an archival entry, another task. `id` is germane's id of it, `title` a few words that say what it is. */
export interface TaskArtifact {
  id: string;
  title: string;
}

/** One block as a scope sees it. `user` None stands for an agent-wide block, `agent` is the owner. `text` is the rendered content, `content_hash` its SHA-256 in hex, `version` the number of its latest version. `shared_from` is the owner where another agent shares the block; None for an own one. `granted` is what the reading scope may do: the block's permission, at most that of the share, and `read_only` for an agent-wide block in the scope of a user. `secrets` counts the secrets that the call which returned the block has found, by kind; it isn't stored. */
export interface Block {
  id: string;
  label: string;
  description: string;
  type: "core" | "working" | "archival" | "log";
  schema: TextSchema | MapSchema | ListSchema | LogSchema | CompositeSchema;
  permission: "read_only" | "partner" | "human" | "append" | "read_write" | "admin";
  limit: number;
  pinned: boolean;
  user: string | null;
  agent: string;
  version: number;
  text: string;
  content_hash: string;
  created_at: string;
  updated_at: string;
  shared_from: string | null;
  granted: "read_only" | "partner" | "human" | "append" | "read_write" | "admin";
  deleted_at: string | null;
  secrets: Record<string, number>;
}

/** Plain text. */
export interface TextSchema {
  type: "text";
  viewport: Viewport | null;
}

/** The lines of a long text that are shown: `lines` of them from line `start` (1 is the first). Where the text ends earlier, its last `lines` are shown. */
export interface Viewport {
  start: number;
  lines: number;
}

/** Named values; a name outside of `fields` is refused. */
export interface MapSchema {
  type: "map";
  fields: Array<Field>;
}

/** A field of a map. A field without a value has its default; a required field without a default must have a value. Agents can't write a field that is `read_only`, system operations can. Raises `InvalidInput` for what can't be a field. */
export interface Field {
  name: string;
  type: "text" | "number" | "boolean" | "list" | "timestamp" | "counter";
  required: boolean;
  default: unknown;
  read_only: boolean;
  description: string;
}

/** Items in an order; with `checkboxes` each can be done. */
export interface ListSchema {
  type: "list";
  item: "text" | "object";
  max_items: number;
  checkboxes: boolean;
}

/** Entries that are only added. The newest `display_limit` are shown; beyond `max_entries` the oldest are dropped. `timestamp` and `agent` say whether an entry shows when it was written and by whom. */
export interface LogSchema {
  type: "log";
  display_limit: number;
  timestamp: boolean;
  agent: boolean;
  max_entries: number;
}

/** Named sections, each with a schema of its own; sections don't nest. */
export interface CompositeSchema {
  type: "composite";
  sections: Array<BlockSection>;
}

/** A part of a composite block. Agents can't write a section that is `read_only`, system operations can. */
export interface BlockSection {
  name: string;
  schema: TextSchema | MapSchema | ListSchema | LogSchema;
  read_only: boolean;
  description: string;
}

/** One version of a block. `number` counts from 0, the block's creation. `operation` says in words what was done, without content; `by` and `reason` are the caller's. `characters` and `content_hash` are those of the rendered text afterwards. `target` is the edit that an undo or a redo concerns. `undone` says that the edit is taken back now. */
export interface Version {
  number: number;
  kind: "create" | "edit" | "undo" | "redo" | "setting" | "schema";
  at: string;
  by: string;
  operation: string;
  reason: string;
  characters: number;
  content_hash: string;
  target: number | null;
  undone: boolean;
}

/** `agent` may see the block with this `label`, and edit it as far as `permission` goes. A user's block is shared with that agent for the same user; an agent-wide block for all users of that agent. */
export interface Share {
  block_id: string;
  label: string;
  agent: string;
  permission: "read_only" | "partner" | "human" | "append" | "read_write" | "admin";
  created_at: string;
}

/** One request. `operation` says in words what is to be done, without content; `requested_by` is the agent, and the caller's name for who edits. `expires_at` is when it can't be answered any more. `scope` and `until` are those of an approval; `used_at` says when the edit of an approval `once` was made. `digest` is a hash of the edit, so that an approval `once` is good for that edit alone; a client of the service doesn't get it. */
export interface ConsentRequest {
  id: string;
  block_id: string;
  label: string;
  asked_of: "partner" | "human";
  operation: string;
  needs: "append" | "overwrite" | "delete";
  requested_by: string;
  requested_at: string;
  expires_at: string;
  state: "pending" | "approved" | "denied" | "expired";
  scope: "once" | "until" | "block" | null;
  until: string | null;
  answered_at: string | null;
  used_at: string | null;
}

/** One entry of the archive. `user` None stands for agent-wide. `metadata` is JSON whose words are searched too. Where a search found a block instead, `id`, `text`, `label`, `version` and `type` are the block's, and `metadata` is empty. `secrets` counts the secrets that the call which stored the entry has found, by kind; it isn't stored. */
export interface ArchivalEntry {
  id: string;
  text: string;
  metadata: Record<string, unknown>;
  user: string | null;
  created_at: string;
  label: string | null;
  version: number | null;
  type: "core" | "working" | "archival" | "log" | null;
  secrets: Record<string, number>;
}

/** What a search of the archive found. `relevance` is the estimated probability that the entry helps. */
export interface FoundEntry {
  entry: ArchivalEntry;
  relevance: number;
}

/** What a search of the blocks found, as it is now. `relevance` is the estimated probability that the block helps. */
export interface FoundBlock {
  block: Block;
  relevance: number;
}

/** What an ingestion did: how many passages were `added`, `kept` as they were, and `removed` because the document doesn't hold them any more. `secrets` counts the secrets that were found, by kind. After a dry run nothing of it has happened. */
export interface Ingested {
  source: string;
  session: string;
  title: string;
  media_type: string;
  outcome: "added" | "changed" | "unchanged";
  added: number;
  kept: number;
  removed: number;
  size: number;
  secrets: Record<string, number>;
  dry_run: boolean;
}

/** One page of a listing of documents. `cursor` continues the listing; None on the last page. */
export interface DocumentPage {
  documents: Array<KeptDocument>;
  cursor: string | null;
}

/** A document of one user (None: agent-wide). `source` is what it was ingested as, by which it is found and replaced; `session` is the name of the session that holds its passages; `size` counts the bytes of what was ingested, 0 where that isn't known. `complete` is False where an ingestion was interrupted: ingesting the document again completes it. */
export interface KeptDocument {
  source: string;
  session: string;
  user: string | null;
  title: string;
  media_type: string;
  passages: number;
  size: number;
  ingested_at: string;
  updated_at: string;
  complete: boolean;
}

/** `event` is as it is stored; None where a hook refused it. `entities` and `relations` are those that the event mentions and states, as they are stored now, and `patterns` the ids of patterns that were learned or counted. `added` is False for an event that was stored before under the same id: then nothing was extracted. `faults` are the extractors that failed; what the others found is stored. */
export interface RecordedEvent {
  event: Event | null;
  entities: Array<Entity>;
  relations: Array<Relation>;
  patterns: Array<string>;
  added: boolean;
  faults: Array<[string, string]>;
  refused_by: string;
}

/** `type` is a word such as `person`, `organisation`, `place`, `file`, `symbol`, `url`, `error`, `tool`, `ticket`, or any other. `name` is as it was written first; `aliases` are its other names. An entity is identified within its owner by its type and name key, or the key of an alias (`kinds/graph/aliases.py`). `salience`, in [0, 1], is that of `salient_at`; it decays with a half-life of 30 days and grows with each mention. `user` None stands for agent-wide. */
export interface Entity {
  id: string;
  type: string;
  name: string;
  user: string | null;
  aliases: Array<string>;
  properties: Record<string, unknown>;
  salience: number;
  salient_at: string;
  mentions: number;
  sensitivity: "public" | "private" | "sensitive";
  created_at: string;
  updated_at: string;
}

/** `source` and `target` are ids of entities of one owner, and may be the same. `type` is a word such as `works_at`. `weight` and `confidence` are in [0, 1]. It holds from `valid_from` (inclusive) until `valid_to` (exclusive; None: still). `refs` are the ids of the events and memories that state it, the latest 100. At most one relation of a source, type and target is open. */
export interface Relation {
  id: string;
  source: string;
  type: string;
  target: string;
  user: string | null;
  weight: number;
  confidence: number;
  properties: Record<string, unknown>;
  valid_from: string;
  valid_to: string | null;
  refs: Array<string>;
  sensitivity: "public" | "private" | "sensitive";
  created_at: string;
  updated_at: string;
}

/** One page of a listing of events that aren't messages. `cursor` continues the listing; None on the last page. */
export interface EventPage {
  events: Array<Event>;
  cursor: string | null;
}

/** One page of a listing of entities. `cursor` continues the listing; None on the last page. */
export interface EntityPage {
  entities: Array<Entity>;
  cursor: string | null;
}

/** What a traversal found. `depths` has the steps from the nearest start to each entity, 0 for the starts themselves; `relations` stand in the order in which they were reached. `capped` says that an entity has more relations than the fan-out cap, or all of them more than the limit, so that some weren't followed. */
export interface Neighbourhood {
  entities: Array<Entity>;
  relations: Array<Relation>;
  depths: Record<string, number>;
  capped: boolean;
}

/** `keywords`, `intent` and `entity_types` say when the pattern applies: those that are given must match the request. `action` is what to do. `applications` counts how often it was tried, `successes` how often that worked. */
export interface Pattern {
  id: string;
  action: string;
  keywords: Array<string>;
  intent: string | null;
  entity_types: Array<string>;
  user: string | null;
  successes: number;
  applications: number;
  sensitivity: "public" | "private" | "sensitive";
  created_at: string;
  updated_at: string;
}

/** A conversation that the service made fit: `messages` for `provider`, `system` as it was given, and in `report` what was done, in figures. `summary` is the text that stands for what left, "" without one, `constraints` what the user demanded in it. */
export interface RemoteCompaction {
  messages: Array<unknown>;
  provider: string;
  system: unknown;
  report: HistoryReport;
  summary: string;
  constraints: Array<string>;
}

/** What a handle stands for, as `germane.Agent.conversations.show` says it. */
export interface RemoteEarlier {
  handle: string;
  kind: string;
  title: string;
  text: string;
  session: string;
  provider: string;
  messages: Array<Record<string, unknown>>;
  previous: string;
  part: number;
  created_at: string;
}

/** One page of a session's outline, oldest line first. `cursor` continues it; None on the last page. */
export interface RemoteOutline {
  lines: Array<RemoteOutlineLine>;
  cursor: string | null;
}

/** What one exchange was about, as `germane.Agent.conversations.outline` says it. */
export interface RemoteOutlineLine {
  session: string;
  text: string;
  first_id: string;
  last_id: string;
  first_at: string;
  last_at: string;
  messages: number;
  sensitivity: string;
}

/** A summary of a session: `text` stands for the messages before the index `covers`, which `fingerprint` names. `note` says why a language model's text wasn't used. */
export interface RemoteSummary {
  id: string;
  session: string;
  text: string;
  covers: number;
  tokens: number;
  method: string;
  note: string;
  fingerprint: string;
  created_at: string;
}

/** One page of a listing. `cursor` continues the listing; None on the last page. */
export interface Page {
  memories: Array<Memory>;
  cursor: string | null;
}

/** Two memories that contradict each other, recorded for review. `reason` is `same_time` (two values of a fact were stated at the same time; the later one counts), `pinned` (a fact superseded a pinned one), `ended` (the newer one says that something has ended, and the older one may be meant), or what two nearly equal texts differ in: `number`, `negation`, `date`, or `order` of the words. `kept` is the id of the memory that was kept, or `both`; None while the conflict is open. */
export interface Contradiction {
  id: string;
  reason: "same_time" | "pinned" | "number" | "negation" | "date" | "order" | "ended";
  older: Memory;
  newer: Memory;
  created_at: string;
  resolved_at: string | null;
  kept: string | null;
}

/** A place to come back to: the frame (None: the empty stack) that a branch stood at when the checkpoint was made. */
export interface TaskCheckpoint {
  session: string;
  name: string;
  branch: string;
  frame: string | null;
  created_at: string;
}

/** `parent` is the branch that it left, None for the main one, and `forked_at` when; what happened there later doesn't belong to this branch. `base` is the frame that it left from, `root` the first frame of its own, and `current` the frame it stands at; each None where there is none. */
export interface TaskBranch {
  session: string;
  name: string;
  parent: string | null;
  base: string | null;
  root: string | null;
  current: string | null;
  state: "open" | "merged" | "abandoned";
  forked_at: string;
  closed_at: string | null;
}

/** Filters that every source obeys (GATHER-4). None filters nothing; an empty tuple of `sensitivities` allows nothing. */
export interface Filters {
  since?: string | null;
  until?: string | null;
  kinds?: Array<string> | null;
  event_types?: Array<string> | null;
  entity_types?: Array<string> | null;
  tags?: Array<string> | null;
  sensitivities?: Array<"public" | "private" | "sensitive">;
  exclude?: Array<string>;
  session?: string | null;
  task?: string | null;
  with_ended?: boolean;
}

/** One turn. `developer` messages are read as `system`; Gemini's `model` as `assistant`. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  parts?: Array<Text | Image | ToolCall | ToolResult | Opaque>;
  id?: string | null;
  name?: string | null;
  created_at?: string | null;
}

/** `raw` is the provider's own part where it is signed, for writing it back whole. */
export interface Text {
  text: string;
}

/** `width` and `height` in pixels where they are known; `raw` is the provider's own part, for writing it back. */
export interface Image {
  width?: number | null;
  height?: number | null;
  detail?: string;
  url?: string | null;
  raw?: Record<string, unknown>;
}

/** `arguments` is JSON text, as the model wrote it. `raw` is the provider's own part where it is signed, for writing it back whole. */
export interface ToolCall {
  id: string;
  name: string;
  arguments?: string;
}

export interface ToolResult {
  call_id: string;
  text: string;
  name?: string;
  error?: boolean;
}

/** A part that germane carries and counts whole: audio, documents, thinking, parts of future models. `text` is the text in it that can be searched, such as that of a document or of a search result. */
export interface Opaque {
  kind: string;
  raw?: Record<string, unknown>;
  text?: string;
}

/** `tool` must be called before any other tool of the turn, and in an earlier batch. */
export interface StartWithInput {
  kind: "start";
  tool: string;
}

/** The turn ends after a call of `tool`. */
export interface EndsTurnInput {
  kind: "ends";
  tool: string;
}

/** The turn goes on after a call of `tool`: the model is asked again. */
export interface ContinuesTurnInput {
  kind: "continues";
  tool: string;
}

/** `tool` may be called at most `count` times in a turn. */
export interface MaxCallsInput {
  kind: "max_calls";
  tool: string;
  count: number;
}

/** `tool` may be called only after `prior` was called in an earlier batch of the turn. */
export interface RequiresPriorInput {
  kind: "requires_prior";
  tool: string;
  prior: string;
}

/** After `tool` was called, `then` must be called in a later batch before the turn ends. */
export interface FollowedByInput {
  kind: "followed_by";
  tool: string;
  then: string;
}

/** `tool` must be called in every turn before it ends. */
export interface RequiredBeforeExitInput {
  kind: "required_before_exit";
  tool: string;
}

/** Between two calls of `tool` at least `seconds` pass, or, with `turns`, it is called at most once in that many turns in a row. Exactly one of the two is given. */
export interface ToolCooldownInput {
  kind: "cooldown";
  tool: string;
  seconds?: number | null;
  turns?: number | null;
}

/** Of these tools only one may be called in a turn, as often as its other rules allow. */
export interface ExclusiveGroupInput {
  kind: "exclusive";
  tools: Array<string>;
}

/** `tool` must be called at least once in `turns` turns: in the last of them it is due before the turn ends. */
export interface PeriodicInput {
  kind: "periodic";
  tool: string;
  turns: number;
}

/** Each call of `tool` needs the consent of `of`: the partner (the agent's owner) or a human. */
export interface RequiresConsentInput {
  kind: "consent";
  tool: string;
  of?: "partner" | "human";
}

/** `tool` may be called only with a string of `allowed` as its argument `argument`. */
export interface AllowedOperationsInput {
  kind: "allowed_operations";
  tool: string;
  allowed: Array<string>;
  argument?: string;
}

/** The oldest messages leave; at most `keep_recent` stay, and fewer where their tokens don't fit. */
export interface Truncate {
  name: "truncate";
  mask?: boolean;
  keep_outputs?: number;
  keep_recent?: number;
}

/** The oldest exchanges leave, a summary of at most `summary_tokens` stands for them. An LLM is given at most `chunk_size` messages at once, with the summary so far. */
export interface Summarise {
  name: "summarise";
  mask?: boolean;
  keep_outputs?: number;
  chunk_size?: number;
  summary_tokens?: number;
}

/** The `keep_recent` newest exchanges stay, and of the older ones the `keep_important` that matter most; a summary stands for the others. */
export interface Importance {
  name: "importance";
  mask?: boolean;
  keep_outputs?: number;
  keep_recent?: number;
  keep_important?: number;
  summary_tokens?: number;
}

/** An exchange counts for what it says, halved for each `half_life` exchanges that came after it; those that count least leave first, and a summary stands for them. */
export interface TimeDecay {
  name: "time-decay";
  mask?: boolean;
  keep_outputs?: number;
  half_life?: number;
  summary_tokens?: number;
}

/** Plain text. */
export interface TextSchemaInput {
  type: "text";
  viewport?: ViewportInput | null;
}

/** The lines of a long text that are shown: `lines` of them from line `start` (1 is the first). Where the text ends earlier, its last `lines` are shown. */
export interface ViewportInput {
  start?: number;
  lines: number;
}

/** Named values; a name outside of `fields` is refused. */
export interface MapSchemaInput {
  type: "map";
  fields: Array<FieldInput>;
}

/** A field of a map. A field without a value has its default; a required field without a default must have a value. Agents can't write a field that is `read_only`, system operations can. Raises `InvalidInput` for what can't be a field. */
export interface FieldInput {
  name: string;
  type?: "text" | "number" | "boolean" | "list" | "timestamp" | "counter";
  required?: boolean;
  default?: unknown;
  read_only?: boolean;
  description?: string;
}

/** Items in an order; with `checkboxes` each can be done. */
export interface ListSchemaInput {
  type: "list";
  item?: "text" | "object";
  max_items?: number;
  checkboxes?: boolean;
}

/** Entries that are only added. The newest `display_limit` are shown; beyond `max_entries` the oldest are dropped. `timestamp` and `agent` say whether an entry shows when it was written and by whom. */
export interface LogSchemaInput {
  type: "log";
  display_limit?: number;
  timestamp?: boolean;
  agent?: boolean;
  max_entries?: number;
}

/** Named sections, each with a schema of its own; sections don't nest. */
export interface CompositeSchemaInput {
  type: "composite";
  sections: Array<BlockSectionInput>;
}

/** A part of a composite block. Agents can't write a section that is `read_only`, system operations can. */
export interface BlockSectionInput {
  name: string;
  schema?: TextSchemaInput | MapSchemaInput | ListSchemaInput | LogSchemaInput;
  read_only?: boolean;
  description?: string;
}

/** Replaces the whole text. What stays the same isn't written again. */
export interface SetText {
  op: "set_text";
  text: string;
  section?: string | null;
}

/** Adds to the end of the text, as it is: without a line break between. */
export interface AppendText {
  op: "append_text";
  text: string;
  section?: string | null;
}

/** Replaces `old`, which must occur exactly once, with `new`. */
export interface ReplaceText {
  op: "replace_text";
  old: string;
  new?: string;
  section?: string | null;
}

/** Inserts lines after line `line`; 0 is the beginning of the text. */
export interface InsertLines {
  op: "insert_lines";
  line: number;
  text: string;
  section?: string | null;
}

/** Sets a field of a map; None gives it back its default. */
export interface SetField {
  op: "set_field";
  field: string;
  value: unknown;
  section?: string | null;
}

/** Adds to a field: text to the end of a text, one entry to a list. */
export interface AppendToField {
  op: "append_to_field";
  field: string;
  value: unknown;
  section?: string | null;
}

/** Adds a whole number, which may be negative, to a counter. Increments from several editors add up. */
export interface Increment {
  op: "increment";
  field: string;
  by?: number;
  section?: string | null;
}

/** Adds an item to the end of a list. */
export interface PushItem {
  op: "push_item";
  value: unknown;
  done?: boolean;
  section?: string | null;
}

/** Inserts an item before the one at `index`, which counts from 0. */
export interface InsertItem {
  op: "insert_item";
  index: number;
  value: unknown;
  done?: boolean;
  section?: string | null;
}

/** Replaces the value of an item; whether it is done stays. */
export interface UpdateItem {
  op: "update_item";
  index: number;
  value: unknown;
  section?: string | null;
}

/** Sets whether an item of a list with checkboxes is done. */
export interface CheckItem {
  op: "check_item";
  index: number;
  done?: boolean;
  section?: string | null;
}

/** Moves an item, so that its index is `to`. */
export interface MoveItem {
  op: "move_item";
  index: number;
  to: number;
  section?: string | null;
}

/** Removes an item from a list. */
export interface DeleteItem {
  op: "delete_item";
  index: number;
  section?: string | null;
}

/** Adds an entry to a log. Its time and author aren't part of it: whoever applies it says them. */
export interface AppendEntry {
  op: "append_entry";
  text: string;
  section?: string | null;
}

/** Replaces the content by a plain value of the schema's shape, as `BlockDocument.value` returns it. A log can't be replaced. */
export interface SetValue {
  op: "set_value";
  value: unknown;
  section?: string | null;
}

/** A pointer to something stored that a task made or used: a message or event, a memory, an archival entry, another task. `id` is germane's id of it, `title` a few words that say what it is. */
export interface TaskArtifactInput {
  id: string;
  title?: string;
}

/** An event that isn't a message. `type` is a word such as `file_read`, `shell_exec`, `error` or `decision`, or any other; `content` a string or a dict as JSON allows it; `outcome` a word or two such as `success` or `failure`; `task` the id of the task that it belongs to (default: the current one of its session, where it has one; '' for none); `at` when it happened (default: now); `id` your own id of it within the session. */
export interface NewEvent {
  type: string;
  content?: unknown;
  outcome?: string;
  task?: string | null;
  at?: string | null;
  id?: string | null;
  sensitivity?: "public" | "private" | "sensitive";
  metadata?: Record<string, unknown>;
}

/** Where a memory or message came from. `message_id` and `tool_call_id` are the caller's own ids. */
export interface ProvenanceInput {
  source_kind?: "user" | "operator" | "tool" | "system" | "import";
  channel?: string | null;
  session?: string | null;
  message_id?: string | null;
  tool_call_id?: string | null;
  refs?: Array<string>;
  metadata?: Record<string, unknown>;
}

/** The operations of an agent. */
export interface AgentOperations {
  /** Returns the messages with what the model needs to know, within its token budget, before the deadline. `messages` are OpenAI, Anthropic or Gemini dicts, or `Message` values. The result is shaped for `provider` (`openai`, `anthropic`, `gemini`), by default for the model's provider. `query` replaces the last user message as the question, `session` names the running conversation, `at` is the time asked about (default: now), `deadline` the seconds until the answer is due (60 at most; None waits for every source), `max_tokens` limits all the text that is added. `effort` (`low`, `medium`, `high`, or a number from 0.01 to 100, 1 being medium) says how much a token has to bring; the default is the strategy's. `like` names a listed model whose profile `model` gets, and `window` replaces its window (tokens). `system` is your own system prompt beside the messages: a text, Anthropic's text blocks, or Gemini's system instruction. It comes back in `system`, behind germane's text, or as the first of your messages for OpenAI. `blocks` are labels or ids of memory blocks that this request refers to: they are shown as well as those of every context. Where the session has a task stack (`agent.tasks`), it is in the context; `task` is the id of the task that this request works on (default: the current one), False leaves the stack out. With `history` the conversation is compacted first, as `agent.conversations.compact` does, to `history_tokens` tokens, by default to what the model's window has room for; True stands for `Summarise()`. `metadata.history` says what was done. By default the messages stay as they are. Raises `InvalidInput` for arguments that can't be used, and nothing else. A fault of germane's own gives less context; `metadata.fallback_reason` and `trace` hold the reason. */
  assemble(args: {
      messages: Array<Record<string, unknown>>;
      model: string;
      provider?: string | null;
      tools?: Array<Record<string, unknown>> | null;
      query?: string | null;
      session?: string | null;
      at?: string | null;
      deadline?: number | null;
      max_tokens?: number | null;
      strategy?: string;
      filters?: Filters | null;
      effort?: "low" | "medium" | "high" | number | null;
      window?: number | null;
      like?: string | null;
      system?: string | Array<string | Record<string, unknown>> | Record<string, unknown> | null;
      blocks?: Array<string>;
      task?: string | boolean | null;
    }): Promise<Assembled>;
  /** Returns the tokens of `content` for `model`: exact where the model's vocabulary is installed, else an upper estimate. Raises `InvalidInput`. */
  estimate_tokens(args: {
      content: string;
      model?: string;
    }): Promise<TokenCount>;
  /** Returns `content` within `max_tokens` tokens of `model`, never longer than it was: as it is where it fits, else shortened by the language model of this `Germane` (default: where one is configured), else the sentences that say most, those about `query` first, with `…` where something was left out. Where the language model fails or writes too much, its answer isn't used, and `note` says so. Raises `InvalidInput`, also for `use_llm=True` without a language model. */
  compress(args: {
      content: string;
      max_tokens: number;
      model?: string;
      query?: string | null;
      use_llm?: boolean | null;
    }): Promise<CompressedText>;
  /** Stores a conversation verbatim and indexes it. Idempotent: each message is stored once, however often it is sent (see `kinds/messages/plans.py`). What germane injected is left out. A call of more than 128 messages or 64K characters is written in slices, with other calls in between: each slice is durable by itself, and sending an interrupted call again completes it. Secrets are redacted, or treated as the policy says that germane was opened with; the result's `secrets` counts them. `said_at` is for a recording that had to wait: messages without a `created_at` get this time (default: now), and where the session or its owner was forgotten as a whole since, nothing is written. Raises `InvalidInput`, and `Conflict` for an id that was recorded before with other content; a conflicting call writes nothing. */
  record(args: {
      messages: Array<Record<string, unknown> | (Message & {
        "$type": "Message";
      })>;
      session: string;
      source_kind?: string;
      channel?: string | null;
    }): Promise<Recorded>;
  /** Has the configured language model read what waits in this scope, to the end: the messages recorded since a model was configured, and those that were parked. Without a user in the scope that means all users of the agent. `session` reads one session, `everything` also what was recorded before. With `dry_run` only counts. `progress(done, total)` gets numbers of messages. Raises `InvalidInput` where no model is configured. */
  extract(args?: {
      session?: string | null;
      everything?: boolean;
      dry_run?: boolean;
    }): Promise<ExtractionRun>;
  /** Stores a memory and returns it. `kind` is fact, preference, procedure, behavior, episode or note; `text` is the kind's main field; `fields` are its other fields (`key`, `value`, `title`, `observed_at`, `occurred_at`) and those that every memory has: `tags`, `sensitivity`, `confidence`, `pinned`, `expires_at`, `valid_from`, `valid_to`. A newer fact on the same key supersedes the older one. An exact duplicate returns the memory that is stored already. `agent_wide` stores it for every user of the agent. The result's `secrets` counts the secrets that were found, by kind. Raises `InvalidInput`, `UnknownName`. */
  remember(args?: {
      text?: string | null;
      kind?: string;
      agent_wide?: boolean;
      /** Fields by name. */
      fields?: Record<string, unknown>;
    }): Promise<Memory>;
  /** Removes what matches every criterion given, with its vectors and index entries, and leaves a tombstone without content. `everything`, or a `user` and no other criterion, also removes the directive, the sessions and the names of their owner. `session`, `source_kind` and `channel` are those of the provenance. The receipt tells where the store was searched for what is left, and whether the texts are gone from every file, or what that waits for; the same call later tells the state then. `dry_run` removes nothing and returns what would be removed. Raises `InvalidInput`, also without any criterion. */
  forget(args?: {
      ids?: Array<string> | null;
      key?: string | null;
      tag?: string | null;
      session?: string | null;
      source_kind?: string | null;
      channel?: string | null;
      user?: string | null;
      everything?: boolean;
      dry_run?: boolean;
      by?: string;
      reason?: string;
    }): Promise<Receipt>;
  /** Counts that memories helped, or did harm, which moves their usefulness. Returns for how many it was counted: the scope's own. Agent-wide memories, which all users share, take feedback from a scope without a user only. Ids of messages and unknown ids are ignored, so the ids of a whole context may be passed. Raises `InvalidInput`. */
  feedback(args: {
      ids: Array<string>;
      helpful?: boolean;
    }): Promise<number>;
  /** Brings the scope's own memories within a storage budget: merges duplicates, compresses the oldest episodes into notes, drops vectors, and evicts the least valuable memories (episodes, notes, procedures, facts), each only as far as needed. Pinned memories, preferences, behaviors and messages stay. What goes is forgotten, with a tombstone. `dry_run` changes nothing and returns what would be done. A call that is interrupted loses nothing, and the next one goes on. Raises `InvalidInput`, also without a limit. */
  consolidate(args?: {
      max_memories?: number | null;
      max_bytes?: number | null;
      dry_run?: boolean;
      by?: string;
    }): Promise<Consolidated>;
  /** Returns one memory or message, by its id, by the beginning of its id (four characters or more), or by your own id of the message. Raises `NotFound`, also for things of another scope (SCOPE-3), and `InvalidInput` where several have it. */
  find(args: {
      id: string;
    }): Promise<Memory | Event>;
  /** Returns the lines that stand in every prompt of a session that begins now, or at `at`: standing instructions and what holds about the person, each with the reason; what was left out; and the text. The assembly makes the same choice. `tokens` (0 to 1,000,000) is the budget (default: that of the strategy `default`). Raises `InvalidInput`. */
  profile(args?: {
      at?: string | null;
      tokens?: number | null;
    }): Promise<ProfileView>;
  /** Pins a line of the profile (`pin`: it is chosen before all others) or hides it (`hide`: it never stands); None takes the mark away. Idempotent; returns the line's whole id. `id` is a line's, or the beginning of one: four characters or more, and `@` with the place at which it begins where a message has several lines. The next session shows the change. Raises `NotFound`, and `InvalidInput`, also where several lines begin so. */
  mark_line(args: {
      id: string;
      mark: "pin" | "hide" | null;
    }): Promise<string>;
  /** Returns what deserves a look among the scope's own memories: duplicates, near-duplicates, contradictions, secrets (with `messages` in its messages too), what is stale or expired, and what was never retrieved although it is `unused_days` old. At most `limit` (1 to 1,000) findings of each kind, with ids and without content; all are counted. Raises `InvalidInput`. */
  audit(args?: {
      unused_days?: number;
      limit?: number;
      messages?: boolean;
    }): Promise<Audit>;
  /** Returns a page of `limit` (1 to 1,000) stored messages, newest first, of one session or of all; its `cursor` asks for the next page. Without `whole`, long texts are cut to their beginning. Without `filters` every sensitivity is listed. Raises `InvalidInput`. */
  messages(args?: {
      session?: string | null;
      filters?: Filters | null;
      limit?: number;
      cursor?: string | null;
    }): Promise<MessagePage>;
  /** Returns a page of `limit` (1 to 1,000) sessions, the one with the latest message first. Raises `InvalidInput`. */
  sessions(args?: {
      limit?: number;
      cursor?: string | null;
    }): Promise<SessionPage>;
  /** Returns a page of `limit` (1 to 1,000) of the agent's users with what each has stored, in the order of their first write. Raises `InvalidInput`, also where the scope has a user: it sees no other. */
  users(args?: {
      limit?: number;
      cursor?: string | null;
    }): Promise<UserPage>;
  /** Returns how much this scope sees: memories by kind, messages, sessions, users, bytes, times. */
  stats(): Promise<Stats>;
  /** Returns the texts of these memories and messages by id, for what a trace names without its text (`context.trace.unread`). What has been forgotten since, or may not be shown, is missing. Raises `InvalidInput`. */
  texts(args: {
      ids: Array<string>;
    }): Promise<Record<string, string>>;
  /** Yields all that this scope can see, one dict at a time, as it was at the first step: a header, the directives, memories, contradictions, sessions with their messages, and tombstones. `docs/use/export.md` describes them. API keys and vectors aren't part of it. */
  export(): AsyncGenerator<Record<string, unknown>>;
  /** Returns the agent's standing instructions (a user's own where one is set). */
  directive(): Promise<string>;
  /** Replaces the standing instructions and returns them; an empty text removes them. Raises `InvalidInput`. */
  set_directive(args: {
      text: string;
    }): Promise<string>;
  /** Returns the memories, messages, archival entries and blocks that answer `query` best, scored, best first, at most `limit` (1 to 1,000). Raises `InvalidInput`. */
  search(args: {
      query: string;
      limit?: number;
      filters?: Filters | null;
      at?: string | null;
      strategy?: string;
    }): Promise<Array<Scored>>;
  /** Returns everything that is known about a person or a thing: what holds now, what no longer holds, and the messages that name it, within `max_tokens`; without a name, about the user. `at` is the time asked about (default: now). Raises `InvalidInput`. */
  about(args?: {
      name?: string | null;
      at?: string | null;
      max_tokens?: number;
      model?: string;
      filters?: Filters | null;
    }): Promise<KnownAbout>;
  /** Returns what is known for `query` as one text of at most `max_tokens` tokens, with its components, as `germane.Agent.build` does. `strategy` is a name, or the settings to change; `deadline` is in seconds. `explain` asks for everything that was considered, in and out, with the reasons. Raises `InvalidInput`. */
  build_context(args: {
      query: string;
      session?: string | null;
      max_tokens: number;
      strategy?: string | Record<string, unknown> | null;
      additional_context?: string | null;
      filters?: Filters | null;
      model?: string;
      at?: string | null;
      deadline?: number;
      explain?: boolean;
    }): Promise<RemoteContext>;
  /** Returns the memories that matter for `query` as a text of its own, for a prompt that you build yourself, as `germane.Agent.digest` does: a list with ids and provenance, or one line that says why there is none. `deadline` is in seconds. Raises `InvalidInput`. */
  digest(args: {
      query: string;
      model?: string;
      session?: string | null;
      at?: string | null;
      deadline?: number;
      max_tokens?: number | null;
      filters?: Filters | null;
      strategy?: string;
    }): Promise<RemoteDigest>;
  /** Returns the whole text of what has this id: a task's result, a message, a memory, an archival entry, a block. The ids of a context's lines are those of its items, or a component's `source`. Raises `NotFound`. */
  expand(args: {
      id: string;
      filters?: Filters | null;
    }): Promise<string>;
  /** Assembles `messages` anew and returns what that did with one stored thing, and the reason. `id` is as in `find`; the others are those of `assemble`, and `deadline` is long enough that no slow source hides the reason. Raises `InvalidInput`. */
  why(args: {
      id: string;
      messages?: Array<Record<string, unknown> | (Message & {
        "$type": "Message";
      })>;
      model: string;
      provider?: string | null;
      session?: string | null;
      tools?: Array<Record<string, unknown>> | null;
      query?: string | null;
      at?: string | null;
      max_tokens?: number | null;
      strategy?: string;
      filters?: Filters | null;
      effort?: "low" | "medium" | "high" | number | null;
      window?: number | null;
      like?: string | null;
      system?: string | Array<string | Record<string, unknown>> | Record<string, unknown> | null;
      blocks?: Array<string>;
      task?: string | boolean | null;
      deadline?: number;
    }): Promise<Why>;
  /** Builds a whole request, as `agent.builder()` does: instructions, directive, blocks, tools with their rules, as much of the history as fits, and what is found. `limits` holds some of `RequestLimits` by name, `deadline` is in seconds. `history` says what leaves first where the conversation doesn't fit (default `Summarise()`). Raises `InvalidInput`. */
  build(args: {
      messages: Array<Record<string, unknown>>;
      model: string;
      provider?: string | null;
      session?: string | null;
      instructions?: string;
      tools?: Array<Record<string, unknown>>;
      rules?: Array<StartWithInput | EndsTurnInput | ContinuesTurnInput | MaxCallsInput | RequiresPriorInput | FollowedByInput | RequiredBeforeExitInput | ToolCooldownInput | ExclusiveGroupInput | PeriodicInput | RequiresConsentInput | AllowedOperationsInput | Record<string, unknown>>;
      blocks?: Array<string>;
      activity?: Array<[string, string, string]>;
      limits?: Record<string, number> | null;
      query?: string | null;
      filters?: Filters | null;
      at?: string | null;
      strategy?: string;
      like?: string | null;
      window?: number | null;
      deadline?: number;
      schemas?: boolean;
      descriptions?: boolean;
      history?: Truncate | Summarise | Importance | TimeDecay | null;
    }): Promise<RemoteRequest>;
  /** Says for each call of a batch whether the rules allow it, as `ToolRules` does. In this order: the turn begins anew where `begin_turn` says so, `approved` calls are consented to, `made` ones are recorded as one batch, and `calls` are judged. `state` is that of the last answer; empty: an agent's first turn. Raises `InvalidInput`. */
  check_tool_calls(args: {
      rules: Array<StartWithInput | EndsTurnInput | ContinuesTurnInput | MaxCallsInput | RequiresPriorInput | FollowedByInput | RequiredBeforeExitInput | ToolCooldownInput | ExclusiveGroupInput | PeriodicInput | RequiresConsentInput | AllowedOperationsInput | Record<string, unknown>>;
      calls?: Array<ToolCall>;
      state?: string;
      begin_turn?: boolean;
      approved?: Array<ToolCall>;
      made?: Array<ToolCall>;
    }): Promise<CheckedCalls>;
  /** Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps from the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and `GermaneError` for a key that may not read. */
  delegate(args: {
      task: string;
      mode?: string;
      model: string;
      session?: string | null;
      messages?: Array<Record<string, unknown> | (Message & {
        "$type": "Message";
      })> | null;
      max_tokens?: number;
      provider?: string | null;
      filters?: Filters | null;
      agent_wide?: boolean;
      deadline?: number;
    }): Promise<RemoteDelegation>;
  blocks: {
    /** Makes a block and returns it. `type` is core, working, archival or log; `schema` a `Schema`, its dict, or the name of a shape (default: a log for a log, else plain text). The first content is `text`, or the plain `value` of another schema. `limit` is the most characters of the rendered text. Raises `Conflict` where the label is taken, and `InvalidInput`. */
    create(args: {
      label: string;
      description?: string;
      type?: string;
      schema?: TextSchemaInput | MapSchemaInput | ListSchemaInput | LogSchemaInput | CompositeSchemaInput | Record<string, unknown> | string | null;
      text?: string | null;
      value?: unknown;
      permission?: string;
      limit?: number;
      pinned?: boolean;
      by?: string;
      reason?: string;
    }): Promise<Block>;
    /** Returns a block as it is now. Raises `NotFound`, also for a deleted one and for blocks of other scopes. */
    get(args: {
      label: string;
    }): Promise<Block>;
    /** Returns the content of a block as plain JSON of its schema; of plain text, the whole text without any mark. Raises `NotFound`. */
    value(args: {
      label: string;
    }): Promise<unknown>;
    /** Returns the blocks, own ones by label and then shared ones; of one `type`, and with labels that begin with `folder/`, where these are given. With `deleted`, the own ones that were deleted, the latest first. */
    list(args?: {
      type?: string | null;
      folder?: string | null;
      deleted?: boolean;
    }): Promise<Array<Block>>;
    /** Applies mutations (values, or their dicts), all or none, and returns the block. `if_hash` is the `content_hash` that the caller has read: `Stale` where the content is another one. `base` is the version that the caller has read: what was changed since stays, and a text that is set is merged with it; `Stale` for what depends on positions. */
    edit(args: {
      label: string;
      mutations?: Array<SetText | AppendText | ReplaceText | InsertLines | SetField | AppendToField | Increment | PushItem | InsertItem | UpdateItem | CheckItem | MoveItem | DeleteItem | AppendEntry | SetValue | Record<string, unknown>>;
      base?: number | null;
      if_hash?: string | null;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Replaces the text of a plain text block; see `edit`. */
    set_text(args: {
      label: string;
      text: string;
      base?: number | null;
      by?: string;
      reason?: string;
    }): Promise<Block>;
    /** Adds to the end of the text of a plain text block, as it is; see `edit`. */
    append(args: {
      label: string;
      text: string;
      by?: string;
      reason?: string;
    }): Promise<Block>;
    /** Replaces `old`, which must occur exactly once in the text, with `new`; see `edit`. */
    replace(args: {
      label: string;
      old: string;
      new: string;
      by?: string;
      reason?: string;
    }): Promise<Block>;
    /** Takes back the latest edit that isn't undone, whoever made it, and returns the block. What was changed since stays. Survives a restart; how far it goes is bounded by the versions that are kept. */
    undo(args: {
      label: string;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Makes the edit again that was undone last, unless another edit followed, and returns the block. */
    redo(args: {
      label: string;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Returns the versions of a block that are kept, oldest first: after consolidation the last 3 to 100, as many as fit into 8 KB or 1.6 times the text. Raises `NotFound`. */
    versions(args: {
      label: string;
    }): Promise<Array<Version>>;
    /** Returns the text of a block as it was at a version. Raises `NotFound`, also where the version isn't kept. */
    show_version(args: {
      label: string;
      version: number;
    }): Promise<string>;
    /** Pins a working block, so that it is in every context, or unpins it; returns the block. */
    pin(args: {
      label: string;
      pinned?: boolean;
      by?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Changes settings of an own block and returns it. A new `schema` takes over the content; `InvalidInput` names what doesn't fit, and edits before it can't be undone any more. Limit, permission and schema need `admin`. `if_hash` as in `edit`. */
    change(args: {
      label: string;
      new_label?: string | null;
      description?: string | null;
      type?: string | null;
      schema?: TextSchemaInput | MapSchemaInput | ListSchemaInput | LogSchemaInput | CompositeSchemaInput | Record<string, unknown> | string | null;
      permission?: string | null;
      limit?: number | null;
      if_hash?: string | null;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Deletes a block and returns it: its label is free, and `restore` brings it back. `agent.forget([block.id])` removes it for good. `if_hash` as in `edit`. Needs `admin`. */
    delete(args: {
      label: string;
      if_hash?: string | null;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Renames all blocks with labels that begin with `folder/` so that they begin with `new_folder/`, or none of them, and returns them. Core and working blocks also get `type`, where it is given. Raises `NotFound` for a folder without blocks. */
    rename_folder(args: {
      folder: string;
      new_folder: string;
      type?: string | null;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Array<Block>>;
    /** Deletes all blocks with labels that begin with `folder/`, or none of them, and returns them; see `delete`. Raises `NotFound` for a folder without blocks. */
    delete_folder(args: {
      folder: string;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Array<Block>>;
    /** Brings back the deleted block with this id and returns it. Idempotent. Needs `admin`. Raises `Conflict` where another block has its label by now. */
    restore(args: {
      id: string;
      by?: string;
      reason?: string;
      system?: boolean;
    }): Promise<Block>;
    /** Shares an own block with another agent of the org, which may do at most what the block's own permission allows; returns the share. A user's block is shared for the same user. Sharing again changes the permission. Needs `admin`. */
    share(args: {
      label: string;
      agent: string;
      permission?: string;
      by?: string;
      system?: boolean;
    }): Promise<Share>;
    /** Ends the share of an own block with an agent, and returns whether there was one. Idempotent. Needs `admin`. */
    unshare(args: {
      label: string;
      agent: string;
      by?: string;
      system?: boolean;
    }): Promise<boolean>;
    /** Returns the shares of an own block, or of all of them, by label and agent. Raises `NotFound`. */
    shares(args?: {
      label?: string | null;
    }): Promise<Array<Share>>;
    /** Returns at most `limit` (1 to 1,000) requests for consent on the scope's own blocks, newest first: those that can be answered now, or with `pending=False` all that are kept. */
    consents(args?: {
      pending?: boolean;
      limit?: number;
    }): Promise<Array<ConsentRequest>>;
    /** Approves a request: for this edit `once`, for a number of seconds, or for the `block`: all that the same agent does with its content, and what rules the block itself (delete, share, permission) only where that was asked for. The agent tries its edit again then. Idempotent. Raises `NotFound`, and `InvalidInput` for a request that has expired or was answered otherwise. */
    approve(args: {
      id: string;
      scope?: string | number;
    }): Promise<ConsentRequest>;
    /** Denies a request: the same edit can be asked for again after the time that requests wait. Idempotent. Raises what `approve` raises. */
    deny(args: {
      id: string;
    }): Promise<ConsentRequest>;
    /** Keeps a text for later searches, by its words and those of its `metadata` (JSON), and returns the entry, which is never changed. Raises `InvalidInput`. */
    archive(args: {
      text: string;
      metadata?: Record<string, unknown> | null;
    }): Promise<ArchivalEntry>;
    /** Returns one archival entry. Raises `NotFound`. */
    entry(args: {
      id: string;
    }): Promise<ArchivalEntry>;
    /** Returns at most `limit` (1 to 1,000) archival entries and archival blocks that answer `query`, best first. Raises `InvalidInput`. */
    search_archive(args: {
      query: string;
      limit?: number;
    }): Promise<Array<FoundEntry>>;
    /** Returns at most `limit` (1 to 1,000) blocks of any type that answer `query`, best first, as they are now: the user's and agent-wide ones, and none that others share. The first search after edits indexes what was edited. Raises `InvalidInput`. */
    search(args: {
      query: string;
      limit?: number;
    }): Promise<Array<FoundBlock>>;
    /** Forgets an archival entry of the scope's own for good, and returns the receipt of `Agent.forget`. Raises `NotFound`. */
    delete_entry(args: {
      id: string;
      by?: string;
      reason?: string;
    }): Promise<Receipt>;
  };
  delegations: {
    /** Ends a delegated task with the result that its agent brought, and returns its frame: a completed (or failed) task below the one that delegated it, which `agent.expand` reads back whole. Raises `NotFound`, and `InvalidInput` where it has ended already. */
    finish(args: {
      id: string;
      result: string;
      status?: string;
      artifacts?: Array<string | [string, string] | TaskArtifactInput>;
    }): Promise<TaskFrame>;
    /** Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run. */
    list(args?: {
      session?: string | null;
      open?: boolean;
      limit?: number;
    }): Promise<Array<TaskFrame>>;
  };
  documents: {
    /** Stores the passages of a document: of the file at `path`, or of a `text`, or the `data` of a file, with a `source`. Idempotent by content: the same document again adds nothing; of a changed one, passages that stay keep their ids, and those that are gone are forgotten. `source` names the document (default: the file's whole path), `title` is shown (default: the file's name). `media_type` is text/markdown, text/html, text/x-code, text/x-log, text/csv, text/plain or application/pdf (default: by name and content). `agent_wide` stores it for every user of the agent. `dry_run` stores nothing and returns what would be done. `progress` is called with hundredths done and 100. Secrets are treated as in messages. Raises `InvalidInput` for what can't be read, `MissingExtra` for a PDF without pypdf, and `Conflict`. */
    ingest(args?: {
      text?: string | null;
      data?: string | null;
      source?: string | null;
      title?: string | null;
      media_type?: string | null;
      agent_wide?: boolean;
      sensitivity?: "public" | "private" | "sensitive";
      dry_run?: boolean;
    }): Promise<Ingested>;
    /** Returns a page of `limit` (1 to 1,000) documents, the one that was ingested last first. Raises `InvalidInput`. */
    list(args?: {
      limit?: number;
      cursor?: string | null;
    }): Promise<DocumentPage>;
    /** Returns a document by its source, by its session, by the id of one of its passages, or by its title, where only one document has it. `agent.messages(session)` lists the passages. Raises `NotFound`, and `InvalidInput` for a title that several documents have. */
    get(args: {
      source: string;
    }): Promise<KeptDocument>;
    /** Removes a document with all its passages, as `agent.forget` removes messages. `agent_wide` removes that of all users. Raises `NotFound`, and `InvalidInput` for a user's scope that names a document of all users without `agent_wide`. */
    forget(args: {
      source: string;
      agent_wide?: boolean;
      dry_run?: boolean;
      by?: string;
      reason?: string;
    }): Promise<Receipt>;
  };
  events: {
    /** Stores one event, and in the same transaction what the archetype's extractors find in it. `type` is `file_read`, `file_write`, `file_edit`, `shell_exec`, `search`, `error`, `decision`, `test`, or any other word; `content` a string or a dict; `outcome` a word such as `success` or `failure`; `task` the id of a task (default: the current one of the session, if any; '' for none); `at` when it happened (default: now). Idempotent by `id`, your own within the session: the same event again is found and not stored. Secrets are treated as in messages. An extractor that fails is reported in the result. Raises `InvalidInput`, `Conflict` for an `id` that was recorded with other content, and what a hook of the archetype raises. */
    record(args: {
      type: string;
      content?: string | Record<string, unknown> | null;
      session?: string | null;
      outcome?: string;
      task?: string | null;
      at?: string | null;
      id?: string | null;
      sensitivity?: "public" | "private" | "sensitive";
      metadata?: Record<string, unknown> | null;
      archetype?: string | null;
    }): Promise<RecordedEvent>;
    /** Stores events, each a `NewEvent` or a dict with the arguments of `record`, and returns what was stored of each, in order. Each is a transaction of its own, and up to 32 become durable together: sending an interrupted call again completes it, where its events have ids. Raises as `record`, once for the first event that can't be stored; others may be stored then. */
    record_many(args: {
      events: Array<NewEvent>;
      session?: string | null;
      archetype?: string | null;
    }): Promise<Array<RecordedEvent>>;
    /** Returns a page of `limit` (1 to 1,000) events, the latest by their time first, of one session or all, of these `types`, of one `task`; its `cursor` asks for the next page. Messages aren't among them. Without `whole`, long texts are cut to their beginning. Raises `InvalidInput`. */
    list(args?: {
      session?: string | null;
      types?: Array<string> | null;
      task?: string | null;
      since?: string | null;
      until?: string | null;
      limit?: number;
      cursor?: string | null;
    }): Promise<EventPage>;
    /** Returns the events of the `sessions` latest sessions (or of one `session`) that are worth knowing later, at most `limit` of each: decisions, errors and what they were resolved with, changes, outcomes, the last message. The latest session comes first, and each one's events oldest first. Long texts are cut. Raises `InvalidInput`. */
    highlights(args?: {
      sessions?: number;
      session?: string | null;
      task?: string | null;
      limit?: number;
    }): Promise<Array<Event>>;
  };
  graph: {
    /** Stores an entity and returns it. Where one of this type has one of the names, what is new is added to it. It stays until it is forgotten. Raises `Conflict` where several have the names. */
    add(args: {
      type: string;
      name: string;
      aliases?: Array<string>;
      properties?: Record<string, unknown> | null;
      sensitivity?: "public" | "private" | "sensitive";
    }): Promise<Entity>;
    /** Returns the entity with this id. Raises `NotFound`. */
    get(args: {
      id: string;
    }): Promise<Entity>;
    /** Returns the entities that have this name or alias, whatever its case and accents; of one `type` where it is given. Where none has it, the one of which it is a short form, as Caro is of Caroline; none where that fits several. */
    find(args: {
      name: string;
      type?: string | null;
    }): Promise<Array<Entity>>;
    /** Returns a page of entities by name: those whose name begins with `prefix`. */
    list(args?: {
      type?: string | null;
      prefix?: string;
      limit?: number;
      cursor?: string | null;
      filters?: Filters | null;
    }): Promise<EntityPage>;
    /** Returns the entities that matter most at a time (default: now): often mentioned, and lately. */
    salient(args?: {
      limit?: number;
      at?: string | null;
    }): Promise<Array<Entity>>;
    /** Stores how one entity stands to another, from `valid_from` (default: now) until `valid_to`, and returns it. A relation that says the same of the same time is the same one. `exclusive`: the source has one target of this type at a time, so that what held before ends. Raises `NotFound`. */
    relate(args: {
      source: string;
      type: string;
      target: string;
      weight?: number;
      confidence?: number;
      properties?: Record<string, unknown> | null;
      valid_from?: string | null;
      valid_to?: string | null;
      exclusive?: boolean;
      sensitivity?: "public" | "private" | "sensitive";
    }): Promise<Relation>;
    /** Ends a relation at a time (default: now) and returns it. Raises `NotFound`. */
    unrelate(args: {
      id: string;
      at?: string | null;
    }): Promise<Relation>;
    /** Returns the relations of an entity in both directions, the heaviest first; those that hold `at` a time where it is given, else all. Raises `NotFound`. */
    relations(args: {
      entity: string;
      at?: string | null;
      limit?: number;
    }): Promise<Array<Relation>>;
    /** Returns the ids of the messages and memories that mention an entity, the latest first. Raises `NotFound`. */
    mentions(args: {
      entity: string;
      limit?: number;
      before?: string | null;
    }): Promise<Array<string>>;
    /** Returns what is within `depth` steps (0 to 10) of an entity: breadth first, in both directions, of each entity at most `fan_out` relations, the heaviest first, and at most `limit` relations in all. `at` leaves out what doesn't hold then. Raises `NotFound`. */
    traverse(args: {
      start: string;
      depth?: number;
      fan_out?: number;
      at?: string | null;
      limit?: number;
    }): Promise<Neighbourhood>;
    /** Returns a shortest path between two entities, of at most 10 relations in either direction; () where both are one, None where there is none. Raises `NotFound`. */
    path(args: {
      start: string;
      goal: string;
      at?: string | null;
    }): Promise<Array<[Relation, boolean]> | null>;
    /** Returns the causal chain from an entity: relations of these types followed from source to target, or `backwards`, the nearest first. Raises `NotFound`. */
    chain(args: {
      start: string;
      types?: Array<string>;
      backwards?: boolean;
      limit?: number;
    }): Promise<Array<Relation>>;
    /** Makes one entity of two: names, mentions and relations of `gone` go to `kept`, which is returned. Raises `NotFound`. */
    merge(args: {
      kept: string;
      gone: string;
    }): Promise<Entity>;
    /** Forgets entities with their relations, relations, and patterns, by id, and returns the receipt of `Agent.forget`. */
    forget(args: {
      ids: Array<string>;
      dry_run?: boolean;
      by?: string;
      reason?: string;
    }): Promise<Receipt>;
    patterns: {
      /** Stores an action and when it applies, and returns the pattern; learning the same again returns the one that is there. `keywords` are words of requests, `intent` is fix, explain, question, action or other. */
      learn(args: {
      action: string;
      keywords?: Array<string>;
      intent?: string | null;
      entity_types?: Array<string>;
      sensitivity?: "public" | "private" | "sensitive";
    }): Promise<Pattern>;
      /** Returns the patterns that apply to a request: all that a pattern says must match. The best success rate first. */
      match(args?: {
      query?: string;
      intent?: string | null;
      entity_types?: Array<string>;
      limit?: number;
    }): Promise<Array<Pattern>>;
      /** Counts that a pattern was tried, and whether it worked; returns the pattern. Raises `NotFound`. */
      apply_result(args: {
      id: string;
      succeeded: boolean;
    }): Promise<Pattern>;
    };
  };
  conversations: {
    /** Returns the messages as they fit `max_tokens`, as `germane.Agent.conversations.compact` does, and keeps what left under handles that `show` brings back. `deadline` are the seconds that the store may take. The answer may hold a summary that was kept before, so the key has to allow reading too. Raises `InvalidInput`. */
    compact(args: {
      messages: Array<Record<string, unknown> | (Message & {
        "$type": "Message";
      })>;
      session?: string | null;
      model: string;
      max_tokens?: number | null;
      strategy?: Truncate | Summarise | Importance | TimeDecay | null;
      system?: unknown;
      tools?: Array<Record<string, unknown>>;
      provider?: string | null;
      low_water?: number;
      max_messages?: number | null;
      deadline?: number;
    }): Promise<RemoteCompaction>;
    /** Returns what a handle in a compacted conversation stands for. Raises `NotFound`, also for what is another scope's. */
    show(args: {
      handle: string;
      session?: string | null;
    }): Promise<RemoteEarlier>;
    /** Returns a compacted conversation with what was taken out of it, as far as it is kept. Raises `InvalidInput`. */
    rebuild(args: {
      messages: Array<Record<string, unknown> | (Message & {
        "$type": "Message";
      })>;
      session?: string | null;
      provider?: string;
    }): Promise<Array<Record<string, unknown>>>;
    /** Returns a page of `limit` (1 to 1,000) lines of a session's outline, oldest first: one for each exchange. */
    outline(args?: {
      session?: string | null;
      limit?: number;
      cursor?: string | null;
    }): Promise<RemoteOutline>;
    /** Returns the last `limit` (1 to 1,000) summaries of a session, oldest first. */
    summaries(args?: {
      session?: string | null;
      limit?: number;
    }): Promise<Array<RemoteSummary>>;
  };
  memories: {
    /** Returns one memory. Raises `NotFound`, also for a memory of another scope (SCOPE-3). */
    get(args: {
      id: string;
    }): Promise<Memory>;
    /** Returns a page of `limit` (1 to 1,000) memories, newest first; its `cursor` asks for the next page. Without `filters` every sensitivity is listed. Raises `InvalidInput`. */
    list(args?: {
      filters?: Filters | null;
      limit?: number;
      cursor?: string | null;
    }): Promise<Page>;
    /** Changes fields of a memory and returns it. Raises `NotFound`, and `InvalidInput` for fields that its kind doesn't have. */
    update(args: {
      id: string;
      text?: string | null;
      /** Fields by name. */
      changes?: Record<string, unknown>;
    }): Promise<Memory>;
    /** Returns at most `limit` (1 to 1,000) open conflicts between the scope's own memories, oldest first: what superseding and linking couldn't decide. Raises `InvalidInput`. */
    review(args?: {
      limit?: number;
    }): Promise<Array<Contradiction>>;
    /** Closes a conflict and returns it. `keep` is the id of the memory to keep, or `both`; the other memory ends. Idempotent. Raises `NotFound`, and `InvalidInput` for another `keep` or another decision than before. */
    resolve(args: {
      id: string;
      keep: string;
    }): Promise<Contradiction>;
    /** Returns the memory with everything that superseded it or that it superseded, oldest first. Raises `NotFound`. */
    versions(args: {
      id: string;
    }): Promise<Array<Memory>>;
  };
  tasks: {
    /** Begins a task below the current one, which may be none, and returns its frame: it is the current one now. Raises `InvalidInput` beyond 32 levels, 256 open tasks or 10,000 tasks of the session. */
    push(args: {
      goal: string;
      session?: string | null;
      sensitivity?: string;
      provenance?: ProvenanceInput | null;
    }): Promise<TaskFrame>;
    /** Ends the current task with its result and returns its frame; the task above it is the current one now. `status` is complete or failed (then `result` says what went wrong). `artifacts` are ids of stored things that belong to the result, each alone or with a title; `expand` reads them back. Raises `InvalidInput` where tasks below are open: the message has their ids. */
    pop(args: {
      result: string;
      session?: string | null;
      status?: string;
      artifacts?: Array<string | [string, string] | TaskArtifactInput>;
    }): Promise<TaskFrame>;
    /** As `pop` with the status failed. */
    fail(args: {
      result: string;
      session?: string | null;
      artifacts?: Array<string | [string, string] | TaskArtifactInput>;
    }): Promise<TaskFrame>;
    /** Marks the current task as blocked and returns its frame. The task above it is the current one then, so that other work can go on; `resume` comes back to it. */
    block(args: {
      reason: string;
      session?: string | null;
    }): Promise<TaskFrame>;
    /** Makes an open task of the running branch the current one, active again where it was blocked. Without an id: the one blocked task that the session stands at, or that lies below. */
    resume(args?: {
      id?: string | null;
      session?: string | null;
    }): Promise<TaskFrame>;
    /** Returns the current task; None where the stack is empty. */
    peek(args?: {
      session?: string | null;
    }): Promise<TaskFrame | null>;
    /** Returns the tasks from the root to the current one; () where the stack is empty. */
    path(args?: {
      session?: string | null;
    }): Promise<Array<TaskFrame>>;
    /** Returns one task, of any session of the scope's own. Raises `NotFound`. */
    get(args: {
      id: string;
    }): Promise<TaskFrame>;
    /** Returns at most `limit` (1 to 1,000) tasks, the latest first: of one session, or of all where neither the call nor the scope names one. `status` is active, complete, blocked or failed. */
    list(args?: {
      session?: string | null;
      status?: string | null;
      limit?: number;
    }): Promise<Array<TaskFrame>>;
    /** Remembers under a name where the session stands, so that a branch can begin there later. A checkpoint of that name moves here. */
    checkpoint(args: {
      name: string;
      session?: string | null;
    }): Promise<TaskCheckpoint>;
    /** Opens a branch where the session stands, or at a checkpoint, and switches to it. It begins with a task of its own, which is returned: `goal`, or else the goal of the task that it leaves from. What happens on a branch isn't seen on the branch that it left until `inject`. Raises `Conflict` where the name is taken. */
    branch(args: {
      name: string;
      goal?: string | null;
      session?: string | null;
      checkpoint?: string | null;
    }): Promise<TaskFrame>;
    /** Makes a branch the running one. The first branch of a session is `main`. */
    switch(args: {
      name: string;
      session?: string | null;
    }): Promise<TaskBranch>;
    /** Brings a branch's result to the running branch and ends that branch: a completed task with the result is added below the current one, and returned; it points to the branch's own task. `result` is needed where that task is still open. */
    inject(args: {
      name: string;
      result?: string | null;
      session?: string | null;
      artifacts?: Array<string | [string, string] | TaskArtifactInput>;
    }): Promise<TaskFrame>;
    /** Ends a branch without a result; its tasks count no more. Idempotent. */
    abandon(args: {
      name: string;
      session?: string | null;
    }): Promise<TaskBranch>;
    /** Returns the branches of a session, the oldest first. */
    branches(args?: {
      session?: string | null;
    }): Promise<Array<TaskBranch>>;
  };
}

/** The operations on a whole org. */
export interface OrgOperations {
  /** Returns a page of `limit` (1 to 1,000) of the org's agents with what each has stored. Raises `InvalidInput`, and `GermaneError` where the key doesn't allow all agents of the org. */
  agents(args?: {
      limit?: number;
      cursor?: string | null;
    }): Promise<AgentPage>;
}

/** The names of all operations. */
export type Operations = "assemble" | "estimate_tokens" | "compress" | "record" | "extract" | "remember" | "forget" | "feedback" | "consolidate" | "find" | "profile" | "mark_line" | "audit" | "messages" | "sessions" | "users" | "stats" | "texts" | "export" | "agents" | "directive" | "set_directive" | "search" | "about" | "build_context" | "digest" | "expand" | "why" | "build" | "check_tool_calls" | "delegate" | "blocks.create" | "blocks.get" | "blocks.value" | "blocks.list" | "blocks.edit" | "blocks.set_text" | "blocks.append" | "blocks.replace" | "blocks.undo" | "blocks.redo" | "blocks.versions" | "blocks.show_version" | "blocks.pin" | "blocks.change" | "blocks.delete" | "blocks.rename_folder" | "blocks.delete_folder" | "blocks.restore" | "blocks.share" | "blocks.unshare" | "blocks.shares" | "blocks.consents" | "blocks.approve" | "blocks.deny" | "blocks.archive" | "blocks.entry" | "blocks.search_archive" | "blocks.search" | "blocks.delete_entry" | "delegations.finish" | "delegations.list" | "documents.ingest" | "documents.list" | "documents.get" | "documents.forget" | "events.record" | "events.record_many" | "events.list" | "events.highlights" | "graph.add" | "graph.get" | "graph.find" | "graph.list" | "graph.salient" | "graph.relate" | "graph.unrelate" | "graph.relations" | "graph.mentions" | "graph.traverse" | "graph.path" | "graph.chain" | "graph.merge" | "graph.forget" | "graph.patterns.learn" | "graph.patterns.match" | "graph.patterns.apply_result" | "conversations.compact" | "conversations.show" | "conversations.rebuild" | "conversations.outline" | "conversations.summaries" | "memories.get" | "memories.list" | "memories.update" | "memories.review" | "memories.resolve" | "memories.versions" | "tasks.push" | "tasks.pop" | "tasks.fail" | "tasks.block" | "tasks.resume" | "tasks.peek" | "tasks.path" | "tasks.get" | "tasks.list" | "tasks.checkpoint" | "tasks.branch" | "tasks.switch" | "tasks.inject" | "tasks.abandon" | "tasks.branches";
