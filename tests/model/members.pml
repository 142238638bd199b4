/* Three members of a mirrored store and the claims for one lock (M1 to M6, M9): look, claim, ping,
   repair, take over, release, on members that are away, answer late or not at all, and lose their
   data. docs/developer/model.md says what is left out; tools/model has every state visited. The
   rules stand beside the bugs to plant in them.

   Each claim is a process. One that never acts again has crashed, a member that is never asked is
   away, and a request that never comes is lost. So is a reply: nobody acts on it. */

#undef CLAIMS
#define CLAIMS 3 /* Whatever is asked for. */
#ifndef EMPTIED
#define EMPTIED 1 /* How often members lose their data, in all. */
#endif
#define N      3
#define Q      2
#define WINDOW 2 /* From the sending of a ping: nobody takes the member before its end. R9 */

#ifndef GOAL
#define GOAL 0
#endif
#define reach(goal) assert(GOAL != goal) /* Seen to happen, when asked for. */

#define ABSENT 0
#define FREE   (CLAIMS + 1)
#define at(p, m) ((p) * N + (m))

/* Of a process. `over`: the hold or claim is a pending release. */
mtype = { idle, looks, claims, held, over, gone };
/* Of a process on a member. `late`: a request is under way that its sender does not count on. */
mtype = { none, saw, sent, late, granted };

/* The members. They differ in nothing, and states that are alike but for their order are one. */
byte doc[N];   /* ABSENT, FREE, or the holder and one. Each write ends what started from before. */
byte fence[N]; /* Of the document, or of the identity of a member that came back. */
byte out[N];   /* Without identity: the ticks to wait and one. M6 */
byte emptied;

/* The processes. */
mtype phase[CLAIMS] = idle;
mtype on[CLAIMS * N] = none;
byte left[CLAIMS * N]; /* Until D, and until the member's ping is old. M5 */
byte fence_of[CLAIMS]; /* The greatest that a look has shown, then the claim's. */
byte greatest_fence; /* Of all holds. */

#define carries(p, m)  (doc[m] == (p) + 1)
#define is_taken(m)    (doc[m] != ABSENT && doc[m] != FREE)
#define protects(p, m) (on[at(p, m)] == granted && left[at(p, m)] > 0)
#define protected(p)   (protects(p, 0) + protects(p, 1) + protects(p, 2))
#define number(p, what) \
  ((on[at(p, 0)] == what) + (on[at(p, 1)] == what) + (on[at(p, 2)] == what))
#define greater(a, b) ((a) > (b) -> (a) : (b))

#include "members_rules.pml"

#define valid(p) (phase[p] == held && protected(p) >= VALID_BY)

/* What starts from a document that has changed will be refused, and is left out of the state. */
byte s;
inline end_bases(m) {
  s = 0;
  do
  :: s < CLAIMS ->
       if
       :: on[at(s, m)] == saw -> on[at(s, m)] = none
       :: (on[at(s, m)] == sent || on[at(s, m)] == late) && is_compared(s) -> on[at(s, m)] = none
       :: else
       fi;
       s++
  :: else -> break
  od
}

inline end_one(p, m) {
  if
  :: on[at(p, m)] == sent -> on[at(p, m)] = late
  :: on[at(p, m)] == granted || on[at(p, m)] == saw -> on[at(p, m)] = none
  :: else
  fi;
  left[at(p, m)] = 0
}
inline end_hold(p) { /* It is a pending release from now on. */
  phase[p] = over; end_one(p, 0); end_one(p, 1); end_one(p, 2)
}

/* A request takes effect: one write, from the document that was seen. R2, M3 */
#define may_write(p, m) (doc[m] == ABSENT || carries(p, m) || grants(p, m))
inline arrive(p, m) {
  if :: phase[p] == over -> reach(5) :: else fi;
  was = on[at(p, m)];
  was_own = carries(p, m);
  if :: is_the_same(was_own) :: else -> end_bases(m) fi;
  if
  :: was == sent && counts(m) &&
     (grants(p, m) || (was_own && fence[m] == fence_of[p])) ->
       on[at(p, m)] = granted;
       if :: phase[p] == held && number(p, granted) == N -> reach(2) :: else fi;
       if :: emptied > 0 && doc[m] == ABSENT && fence[m] > 0 -> reach(4) :: else fi;
       if :: is_taken(m) && !was_own && number(p, granted) == Q -> reach(1) :: else fi
  :: else -> on[at(p, m)] = none
  fi;
  doc[m] = p + 1;
  fence[m] = written_fence(p, m)
}

/* A process that does not count on a member may as well have an old ping there. */
inline drop_one(p, m) {
  if :: on[at(p, m)] == sent || on[at(p, m)] == granted :: else -> left[at(p, m)] = 0 fi
}
inline drop(p) {
  drop_one(p, 0); drop_one(p, 1); drop_one(p, 2);
  if
  :: phase[p] == looks && number(p, saw) == 0 -> phase[p] = idle; fence_of[p] = 0
  :: phase[p] == claims && wins(p) ->
       phase[p] = held;
       assert(fence_of[p] > greatest_fence);
       greatest_fence = fence_of[p];
       if :: fence_of[p] == CLAIMS -> reach(6) :: else fi;
       if :: out[0] + out[1] + out[2] > 0 -> reach(3) :: else fi
  :: else
  fi;
  if
  :: phase[p] == held && ends(p) -> end_hold(p)
  :: else
  fi;
  if
  :: phase[p] == over && may_forget(p) -> phase[p] = gone; fence_of[p] = 0
  :: else
  fi
}

/* Two members change places. */
byte keep; mtype was; bool was_own;
inline swap_bytes(a, b) { keep = a; a = b; b = keep }
inline swap_one(p, a, b) {
  was = on[at(p, a)]; on[at(p, a)] = on[at(p, b)]; on[at(p, b)] = was;
  swap_bytes(left[at(p, a)], left[at(p, b)])
}
#define key_of(p, m) (on[at(p, m)] * 4 + left[at(p, m)])
#define base(m) ((doc[m] * 8 + fence[m]) * 8 + out[m])
#define key(m) ((((base(m) * 64) + key_of(0, m)) * 64 + key_of(1, m)) * 64 + key_of(2, m))
inline sort_two(a, b) {
  if
  :: key(a) > key(b) ->
       swap_bytes(doc[a], doc[b]); swap_bytes(fence[a], fence[b]); swap_bytes(out[a], out[b]);
       swap_one(0, a, b); swap_one(1, a, b); swap_one(2, a, b)
  :: else
  fi
}

/* Two processes change names. */
inline rename(m, a, b) {
  if
  :: doc[m] == a + 1 -> doc[m] = b + 1
  :: doc[m] == b + 1 -> doc[m] = a + 1
  :: else
  fi;
  was = on[at(a, m)]; on[at(a, m)] = on[at(b, m)]; on[at(b, m)] = was;
  swap_bytes(left[at(a, m)], left[at(b, m)])
}
#define rank(p) (phase[p] * 8 + fence_of[p])
inline rename_two(a, b) {
  if
  :: rank(a) > rank(b) ->
       was = phase[a]; phase[a] = phase[b]; phase[b] = was;
       swap_bytes(fence_of[a], fence_of[b]);
       rename(0, a, b); rename(1, a, b); rename(2, a, b)
  :: else
  fi
}

inline check_member(m) {
  if
  :: is_taken(m) ->
       assert(phase[doc[m] - 1] != gone); /* Somebody frees it, or falls silent. R8 */
       assert(on[at(doc[m] - 1, m)] != granted || fence[m] == fence_of[doc[m] - 1]) /* M3 */
  :: else
  fi
}
inline settle() {
  drop(0); drop(1); drop(2);
  assert(valid(0) + valid(1) + valid(2) <= 1);
  check_member(0); check_member(1); check_member(2);
#if !defined(AS_THEY_ARE)
  rename_two(0, 1); rename_two(1, 2); rename_two(0, 1);
  sort_two(0, 1); sort_two(1, 2); sort_two(0, 1);
#endif
  s = 0; keep = 0; was = none; was_own = false
}

/* First looks come in the order of the processes, since these differ in nothing else. */
#define may_look(p) (phase[p] == looks || (phase[p] == idle && (p == 0 || phase[p - 1] != idle)))

inline look(p, m) {
  phase[p] = looks; on[at(p, m)] = saw;
  if :: learns_fence(p, m) -> fence_of[p] = fence[m] :: else fi
}

inline send(p, m) {
  if :: on[at(p, m)] == saw -> on[at(p, m)] = sent :: else fi;
  left[at(p, m)] = WINDOW
}

#define ON(m) \
  :: d_step { may_look(p) && counts(m) && on[at(p, m)] == none && may_take(m) -> \
       look(p, m); settle() } \
  :: d_step { (on[at(p, m)] == sent || on[at(p, m)] == late) && may_write(p, m) -> \
       arrive(p, m); settle() } \
  :: d_step { may_ping(p, m) && counts(m) -> left[at(p, m)] = WINDOW; settle() } \
  :: d_step { may_repair(p) && counts(m) && \
       (on[at(p, m)] == none || on[at(p, m)] == late) && repairs(p, m) -> \
       on[at(p, m)] = sent; left[at(p, m)] = WINDOW; settle() } \
  :: d_step { phase[p] == over && carries(p, m) -> doc[m] = FREE; end_bases(m); settle() }

proctype Process(byte p) {
end:
  do
  ON(0)
  ON(1)
  ON(2)
  :: d_step { phase[p] == looks && number(p, saw) >= ENOUGH -> /* With pings before. R7 */
       phase[p] = claims; fence_of[p] = fence_of[p] + 1;
       send(p, 0); send(p, 1); send(p, 2); settle() }
  :: d_step { phase[p] == claims || phase[p] == held -> end_hold(p); settle() }
  od
}

inline expire(p, m) { /* D has passed. */
  if
  :: on[at(p, m)] == granted && is_final -> on[at(p, m)] = none
  :: on[at(p, m)] == sent -> on[at(p, m)] = late
  :: else
  fi
}
inline pass_one(p, m) {
  if
  :: left[at(p, m)] > 0 ->
       left[at(p, m)]--;
       if :: left[at(p, m)] == 0 -> expire(p, m) :: else fi
  :: else
  fi
}
inline pass(m) {
  pass_one(0, m); pass_one(1, m); pass_one(2, m);
  if :: out[m] > 1 -> out[m]-- :: else fi
}

/* A member's data are lost. Only what starts from no document may take effect there, and nobody
   counts on it. */
inline lose_data(m) {
  s = 0;
  do
  :: s < CLAIMS ->
       if
       :: on[at(s, m)] == saw -> on[at(s, m)] = none
       :: on[at(s, m)] == sent && doc[m] == ABSENT ->
            if :: is_another_life -> on[at(s, m)] = late :: else fi
       :: (on[at(s, m)] == sent || on[at(s, m)] == late) && doc[m] != ABSENT -> on[at(s, m)] = none
       :: else
       fi;
       s++
  :: else -> break
  od;
  doc[m] = ABSENT; fence[m] = 0; out[m] = WAIT + 1; emptied++
}

#define EMPTY(m) :: d_step { emptied < EMPTIED && out[m] == 0 -> lose_data(m); settle() }
#define BACK(m, a, b) \
  :: d_step { out[m] == 1 && out[a] == 0 && out[b] == 0 && !is_taken(m) -> \
       fence[m] = fence_back(m, a, b); out[m] = 0; settle() }

proctype World() {
end:
  do
  :: d_step { true -> pass(0); pass(1); pass(2); settle() }
  EMPTY(0)
  EMPTY(1)
  EMPTY(2)
  BACK(0, 1, 2)
  BACK(1, 2, 0)
  BACK(2, 0, 1)
  od
}

init {
  atomic { run Process(0); run Process(1); run Process(2); run World() }
}
