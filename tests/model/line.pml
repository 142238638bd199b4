/* Three waiters and the line for one lock (R17 to R19): enter, look, claim, unlock, leave, on a
   store whose answers come late or not at all, with bells that get lost and waiters that die.
   docs/developer/model.md says what is left out; tools/model has every state visited. The rules
   stand beside the bugs to plant in them.

   A request for a place is one write. A waiter that got no answer gives the ticket up: it becomes
   a pending release, and the wait goes on with a new one. Any waiter may sleep for as long as it
   likes. Time is the turns since the release. */

#ifndef CLAIMS
#define CLAIMS 4 /* Tickets in all. */
#endif
#define WAITERS 3
#define TURNS   2 /* From then on the line is open to all. */

#ifndef GOAL
#define GOAL 0
#endif
#define reach(goal) assert(GOAL != goal) /* Seen to happen, when asked for. */
#define bit(t) (1 << (t))

mtype = { out, asleep, held, gone };

/* The store. A place is a ticket; 0: none. A line never has more places than there are tickets. */
bool taken;
byte doc_ts;
byte free_for = TURNS; /* Turns since the release. */
byte line[CLAIMS];
byte marked; /* The tickets that were passed over, by bits. */
byte late_ts; /* A request that is under way although its sender has given up on it. */

/* The waiters. */
mtype at[WAITERS] = out;
byte ticket[WAITERS];
byte pending[WAITERS]; /* Tickets to be given up, by bits. */
bool rung[WAITERS];
byte owner[CLAIMS + 1];
byte next_ticket = 1;

/* Whether the ticket has a place, and how many that are not marked stand before it. */
byte i, before, last;
bool stands;
inline find(t) {
  stands = false; before = 0; i = 0;
  do
  :: i < CLAIMS && line[i] != 0 && !stands ->
       if
       :: line[i] == t -> stands = true
       :: else -> if :: marked & bit(line[i]) :: else -> before++ fi
       fi;
       i++
  :: else -> break
  od;
  if :: stands && (marked & bit(t)) -> before = 0 :: else fi
}

#if defined(DEAD_FIRST_BLOCKS)
#define open_places 1
#else
#define open_places ((2 << free_for) - 1) /* R17 */
#endif
#if defined(NEWCOMER_PUSHES_IN)
#define may_claim (!stands || before < open_places)
#else
#define may_claim (before < open_places) /* After find(). */
#endif
#if defined(BELL_IS_BELIEVED)
#define may_look(p) rung[p]
#else
#define may_look(p) true /* R19: by itself, too. */
#endif

/* Removes the places whose bits are set. */
inline remove(bits) {
  i = 0; last = 0;
  do
  :: i < CLAIMS ->
       if
       :: line[i] != 0 && !((bits) & bit(line[i])) ->
            line[last] = line[i];
            if :: last != i -> line[i] = 0 :: else fi;
            last++
       :: else -> line[i] = 0
       fi;
       i++
  :: else -> break
  od;
  marked = marked & ~(bits)
}

/* Marks the places before the ticket's, or all if it has none. Gives them in `passed`. */
byte passed;
inline mark_before(t) {
  passed = 0; i = 0;
  do
  :: i < CLAIMS && line[i] != 0 && line[i] != t -> passed = passed | bit(line[i]); i++
  :: else -> break
  od;
  marked = marked | passed
}

inline claim(t) {
  /* Who came earlier is passed over only after its turn. */
  assert(before == 0 || free_for > 0);
  if :: at[owner[t]] == asleep && (marked & bit(t)) -> reach(2) :: else fi;
  mark_before(t);
#if defined(MARK_THROWS_OUT)
  remove(passed);
#endif
  remove(bit(t));
  taken = true; doc_ts = t; free_for = 0
}

/* One request for a place takes effect. `answer`: it is the ticket's hold, a place, or nothing. */
bool granted, in_line;
inline stand(t) {
  granted = false; in_line = false;
  if
  :: taken && doc_ts == t -> granted = true
  :: !taken && doc_ts == t /* It has held the lock. */
  :: else ->
       find(t);
       if
       :: !taken && may_claim -> claim(t); granted = true
       :: else ->
            marked = marked & ~bit(t);
            if :: !stands -> append(t) :: else fi;
            in_line = true
       fi
  fi
}
inline append(t) {
  i = 0;
  do :: line[i] != 0 -> i++ :: else -> break od;
  line[i] = t
}

inline ring(p) { rung[p] = (at[p] == asleep) }
inline ring_next() {
  before = 0; i = 0;
  do
  :: i < CLAIMS && line[i] != 0 ->
       if
       :: marked & bit(line[i]) -> ring(owner[line[i]])
       :: else -> if :: before < 2 -> ring(owner[line[i]]) :: else fi; before++
       fi;
       i++
  :: else -> break
  od
}
inline free() { taken = false; free_for = 0; ring_next() }

inline forget_ticket(p) { ticket[p] = 0; rung[p] = false; at[p] = out }
inline doubt(p) {
#if !defined(DOUBT_IS_FORGOTTEN)
  pending[p] = pending[p] | bit(ticket[p]); /* R18 */
#endif
  forget_ticket(p)
}
inline take_answer(p) {
  rung[p] = false;
  if
  :: granted -> at[p] = held
  :: in_line -> at[p] = asleep
  :: else -> forget_ticket(p)
  fi
}

/* Tickets that are gone from the store for good are all alike. */
#define is_known(t) \
  (at[owner[t]] == gone || ticket[owner[t]] == t || (pending[owner[t]] & bit(t)))
#define sleeps(p) (at[p] == asleep)
inline check_ticket(t) {
  find(t);
  assert(!(stands || (taken && doc_ts == t)) || is_known(t));
  assert(!(stands && taken && doc_ts == t));
  if
  :: t < next_ticket && ticket[owner[t]] == t && at[owner[t]] == asleep ->
       assert(stands);
       assert(taken || free_for < TURNS || before < open_places)
  :: else
  fi
}
inline check() {
  check_ticket(1); check_ticket(2); check_ticket(3);
#if CLAIMS > 3
  check_ticket(4);
#endif
#if CLAIMS > 4
  check_ticket(5);
#endif
  assert(at[0] != held || (taken && doc_ts == ticket[0]));
  assert(at[1] != held || (taken && doc_ts == ticket[1]));
  assert(at[2] != held || (taken && doc_ts == ticket[2]));
  /* A free lock has somebody who will look. */
  assert(taken || !(sleeps(0) || sleeps(1) || sleeps(2)) ||
         (sleeps(0) && may_look(0)) || (sleeps(1) && may_look(1)) || (sleeps(2) && may_look(2)));
  i = 0; before = 0; last = 0; passed = 0; stands = false; granted = false; in_line = false
}

/* First tickets come in the order of the waiters, since these differ in nothing else. */
#define may_enter(p) (at[p] == out && next_ticket <= CLAIMS && (p == 0 || next_ticket > p))

#define GIVE_UP(t) \
  :: d_step { at[p] != gone && (pending[p] & bit(t)) -> \
       remove(bit(t)); \
       if :: taken && doc_ts == t -> reach(4); free() :: else fi; \
       if :: may_end(t) -> pending[p] = pending[p] & ~bit(t) :: else fi; check() }
#if defined(PENDING_ENDS_EARLY)
#define may_end(t) true
#else
#define may_end(t) (late_ts != t) /* R8, R18 */
#endif

proctype Waiter(byte p) {
end:
  do
  :: d_step { may_enter(p) -> ticket[p] = next_ticket; owner[next_ticket] = p; next_ticket++;
       stand(ticket[p]); take_answer(p); check() }
  :: d_step { may_enter(p) -> ticket[p] = next_ticket; owner[next_ticket] = p; next_ticket++;
       stand(ticket[p]); doubt(p); check() } /* The answer is lost. */
  :: d_step { may_enter(p) && late_ts == 0 -> ticket[p] = next_ticket; owner[next_ticket] = p;
       next_ticket++; late_ts = ticket[p]; doubt(p); check() }

  :: d_step { at[p] == asleep && may_look(p) ->
       if :: !rung[p] && !taken -> reach(6) :: else fi;
       stand(ticket[p]); take_answer(p); check() }
  :: d_step { at[p] == asleep && may_look(p) -> stand(ticket[p]); doubt(p); check() }
  :: d_step { at[p] == asleep && may_look(p) && late_ts == 0 ->
       late_ts = ticket[p]; doubt(p); check() }
  :: d_step { at[p] == asleep && taken && at[owner[doc_ts]] == gone -> /* R6 takes over. */
       reach(5);
       doc_ts = ticket[p];
#if !defined(TAKEOVER_KEEPS_THE_PLACE)
       remove(bit(ticket[p]));
#endif
       at[p] = held; rung[p] = false; check() }

  :: d_step { at[p] == held -> free(); forget_ticket(p); check() }
  :: d_step { at[p] == held -> pending[p] = pending[p] | bit(ticket[p]); forget_ticket(p); check() }
  :: d_step { at[p] == asleep -> remove(bit(ticket[p])); forget_ticket(p); check() }
  :: d_step { at[p] == asleep -> /* The wait ends, and the store does not hear of it. */
#if !defined(LEAVE_IS_BELIEVED)
       pending[p] = pending[p] | bit(ticket[p]);
#endif
       forget_ticket(p); check() }
  GIVE_UP(1)
  GIVE_UP(2)
  GIVE_UP(3)
#if CLAIMS > 3
  GIVE_UP(4)
#endif
#if CLAIMS > 4
  GIVE_UP(5)
#endif
  :: d_step { at[p] != gone && at[p] != out -> at[p] = gone; rung[p] = false; check() }
  od
}

proctype World() {
end:
  do
  :: d_step { !taken && free_for < TURNS -> free_for++; check() }
  :: d_step { late_ts != 0 -> stand(late_ts);
       if :: in_line && !(marked & bit(late_ts)) -> reach(3) :: else fi;
       check() } /* It comes, and may come again. */
  :: d_step { late_ts != 0 -> late_ts = 0; check() } /* No more. */
  :: d_step { rung[0] -> rung[0] = false; check() } /* A ring gets lost. */
  :: d_step { rung[1] -> rung[1] = false; check() }
  :: d_step { rung[2] -> rung[2] = false; check() }
  :: d_step { taken && at[owner[doc_ts]] == held && marked != 0 -> reach(1); check() }
  od
}

init {
  atomic { run Waiter(0); run Waiter(1); run Waiter(2); run World() }
}
