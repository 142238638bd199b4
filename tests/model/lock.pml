/* Three processes and one lock: ping, look, claim, take over, release, stop, on a store whose
   answers come late or not at all. docs/developer/model.md says what is left out; tools/model has every state
   visited; the rules, and the bugs to plant in them, are in rules.pml.

   Time passes by ticks, at any point, so that any process may be paused anywhere. One that never
   acts again has crashed. What counts up or down stops at its end, so that time has no bound; the
   number of claims has one. */

#ifndef CLAIMS
#define CLAIMS 4
#endif
#define PROCESSES 3

#ifndef GOAL
#define GOAL 0
#endif
#define reach(goal) assert(GOAL != goal) /* Seen to happen, when asked for. */
#define NEVER 255

mtype = { idle, looked, sent, won, unknown, held, lost, stopped };

/* The store. An age is the most that the store's clock can make of a ping; NEVER: there is none. */
byte doc_ts; /* 0: there is no document. */
bool doc_taken;
byte doc_owner;
byte doc_fence;
byte age[PROCESSES] = NEVER;

/* A request that is under way although its sender has given up on it. One at a time. */
byte late_ts, late_basis, late_age, late_owner;
bool late_from_hold;

/* The processes. */
mtype at[PROCESSES] = idle;
byte left[PROCESSES];      /* Of the validity that the last confirmed ping gave. R9 */
byte ts[PROCESSES];        /* Of the claim under way, or of the hold. */
byte basis[PROCESSES];     /* What the claim starts from: this ts, */
bool from_hold[PROCESSES]; /* taken or free. R2 */
bool reclaims[PROCESSES];  /* It starts from the process's own hold. */
byte claim_age[PROCESSES]; /* Since it was sent. */
byte pending[PROCESSES];   /* The set of ts to be released, by bits. R8 */
bool has_claimed[PROCESSES];

byte next_ts = 1;
byte greatest_fence;

#define bit(t) (1 << (t))
#define valid(p) (at[p] == held && left[p] > 0)
#define knows(p, t) \
  ((ts[p] == t && (at[p] == won || at[p] == unknown || at[p] == held || at[p] == lost)) || \
   (reclaims[p] && basis[p] == t) || (pending[p] & bit(t)))

#include "rules.pml"

#define confirms(p) (age[p] <= YOUNGEST + VALID && may_count(p) && gives(p) > left[p])
inline confirm(p) {
  left[p] = gives(p);
#if defined(PING_REVIVES)
  if :: at[p] == lost -> at[p] = held :: else fi
#endif
}

/* A lock is stuck for ever if its holder has no ping (R7), or pings and does not know of its hold
   (R8). In every other state it is freed, or falls silent and is taken over. */
inline check() {
  if :: greatest_fence == CLAIMS && valid(2) -> reach(6) :: else fi;
  assert(valid(0) + valid(1) + valid(2) <= 1);
  assert(!doc_taken || age[doc_owner] != NEVER);
  assert(!doc_taken || knows(doc_owner, doc_ts))
}

inline forget_claim(p) {
  at[p] = idle; ts[p] = 0; basis[p] = 0; from_hold[p] = false; reclaims[p] = false;
  claim_age[p] = 0
}

/* Not certainly held. The claim, or what it was to replace, becomes a pending release. R8 */
inline give_up(p) {
  if :: reclaims[p] -> pending[p] = pending[p] | bit(basis[p]) :: else fi;
#if !defined(UNKNOWN_IS_NO)
  pending[p] = pending[p] | bit(ts[p]);
#endif
  forget_claim(p)
}

/* A document never comes back to an earlier ts. So what starts from one, or releases one, can have
   no effect any more and is left out of the state: the claim has been refused, the release has found
   nothing. */
#if defined(RELEASE_BY_NAME)
#define is_over(t) false
#else
#define is_over(t) (!(doc_taken && doc_ts == t) && late_ts != t)
#endif
inline drop_pending(p, t) {
  if :: (pending[p] & bit(t)) && is_over(t) -> pending[p] = pending[p] & ~bit(t) :: else fi
}
#define is_asked_for(p) (doc_taken && doc_owner == p)
inline drop_age(p) {
  if
  :: age[p] != NEVER && !is_asked_for(p) ->
       age[p] = (left[p] > VALID + YOUNGEST - WINDOW -> YOUNGEST + VALID - left[p] : WINDOW)
  :: else
  fi
}
inline drop_dead(p) {
  drop_age(p);
  if
  :: at[p] == looked && !matches(basis[p], from_hold[p]) -> forget_claim(p)
  :: at[p] == sent && !(matches(basis[p], from_hold[p]) && in_time(claim_age[p])) -> give_up(p)
  :: else
  fi;
  drop_pending(p, 1); drop_pending(p, 2); drop_pending(p, 3)
#if CLAIMS > 3
  ; drop_pending(p, 4)
#endif
#if CLAIMS > 4
  ; drop_pending(p, 5)
#endif
}
inline clear_late() {
  late_ts = 0; late_basis = 0; late_from_hold = false; late_age = 0; late_owner = 0
}
inline settle() {
  if :: late_ts != 0 && !matches(late_basis, late_from_hold) -> clear_late() :: else fi;
  drop_dead(0); drop_dead(1); drop_dead(2);
  check()
}

inline take(owner, its_ts) { /* One write. R2, R10 */
  doc_ts = its_ts;
  doc_owner = owner;
  doc_taken = true;
#if defined(FENCE_BEGINS_ANEW)
  doc_fence = 1;
#else
  doc_fence = doc_fence + 1;
#endif
  assert(doc_fence > greatest_fence);
  greatest_fence = doc_fence
}

inline look(p) {
  basis[p] = doc_ts; from_hold[p] = doc_taken; at[p] = looked
}

/* First claims come in the order of the processes, since these differ in nothing else. */
#define may_send(p) (next_ts <= CLAIMS && may_claim(p) && (p == 0 || has_claimed[p - 1]))
inline send(p) {
  ts[p] = next_ts;
  next_ts++;
  has_claimed[p] = true;
  at[p] = sent
}

inline delay(p) {
  late_ts = ts[p]; late_basis = basis[p]; late_from_hold = from_hold[p];
  late_age = claim_age[p]; late_owner = p;
  claim_age[p] = 0; at[p] = unknown
}

/* A claim whose reply comes after its deadline is given back. R9 */
inline got(p) {
#if defined(CLAIM_EXTENDS)
  left[p] = VALID;
#endif
  if
  :: left[p] > 0 ->
       if :: from_hold[p] && !reclaims[p] -> reach(1) :: else fi;
       if :: reclaims[p] -> reach(2) :: else fi;
       if :: at[p] == unknown -> reach(3) :: else fi;
       reclaims[p] = false; basis[p] = 0; from_hold[p] = false; claim_age[p] = 0;
       at[p] = held
  :: else -> reach(4); give_up(p)
  fi
}

/* With a reply that is lost, and with one that comes. */
#define RELEASES(t) \
  :: d_step { at[p] != stopped && (pending[p] & bit(t)) && frees(t) -> free(t); settle() } \
  :: d_step { at[p] != stopped && (pending[p] & bit(t)) && (frees(t) || is_settled(t)) -> \
       if :: frees(t) -> free(t) :: else fi; \
       pending[p] = pending[p] & ~bit(t); settle() }
inline free(t) {
  assert(doc_ts == t || !valid(doc_owner));
  doc_taken = false
}

proctype Process(byte p) {
  do
  :: d_step { at[p] != stopped -> age[p] = YOUNGEST; if :: confirms(p) -> confirm(p) :: else fi; settle() }
  :: d_step { at[p] != stopped && is_asked_for(p) -> age[p] = YOUNGEST }
  :: d_step { at[p] != stopped && confirms(p) -> confirm(p); settle() }

  :: d_step { at[p] == idle && next_ts <= CLAIMS && (!doc_taken || looks_dead) -> look(p) }
  :: d_step { at[p] == looked && may_send(p) -> send(p) }
  :: d_step { at[p] == lost && may_send(p) -> /* reclaim() */
       basis[p] = ts[p]; from_hold[p] = true; reclaims[p] = true; send(p); settle() }

  :: d_step { at[p] == sent -> take(p, ts[p]); claim_age[p] = 0; at[p] = won; settle() }
  :: d_step { at[p] == sent && late_ts == 0 -> delay(p) }
#if defined(UNKNOWN_IS_YES)
  :: d_step { at[p] == sent -> got(p); settle() }
#else
  :: d_step { at[p] == sent -> give_up(p); settle() } /* The request is lost. */
#endif
  :: d_step { at[p] == won -> got(p); settle() }
  :: d_step { at[p] == unknown && doc_taken && doc_ts == ts[p] -> got(p); settle() }
  :: d_step { at[p] == won || at[p] == unknown -> give_up(p); settle() }

  :: d_step { at[p] == held || at[p] == lost -> /* unlock() */
       pending[p] = pending[p] | bit(ts[p]); forget_claim(p); settle() }
  RELEASES(1)
  RELEASES(2)
  RELEASES(3)
#if CLAIMS > 3
  RELEASES(4)
#endif
#if CLAIMS > 4
  RELEASES(5)
#endif

  /* A clean stop removes the ping if nothing is held, claimed or pending. R12 */
  :: d_step { at[p] == idle && age[p] != NEVER &&
#if !defined(STOP_FORGETS_PENDING)
       pending[p] == 0 &&
#endif
       true -> age[p] = NEVER; left[p] = 0; at[p] = stopped; check() }
  od
}

inline pass(p) {
  if :: age[p] < WINDOW -> age[p]++ :: else fi;
  if :: left[p] > 0 -> left[p]-- :: else fi;
  if :: left[p] == 0 && at[p] == held -> at[p] = lost :: else fi; /* R9: it is final. */
  if :: at[p] == sent && claim_age[p] <= CUTOFF -> claim_age[p]++ :: else fi
}

proctype World() {
  do
  :: d_step { pass(0); pass(1); pass(2);
       if :: late_ts != 0 && late_age < SETTLED -> late_age++ :: else fi;
       settle() }
  :: d_step { late_ts != 0 && in_time(late_age) ->
       if :: at[late_owner] != unknown -> reach(5) :: else fi;
       take(late_owner, late_ts); clear_late(); settle() }
  :: d_step { late_ts != 0 -> clear_late(); settle() } /* It is lost. */
  od
}

init {
  atomic { run Process(0); run Process(1); run Process(2); run World() }
}
