/* The rules of docs/protocol.md about members, each beside the bug that tools/model plants in its
   place. */

/* M1, M2: what makes a hold. */
#if defined(MAJORITY_OF_THE_ANSWERS)
#define ENOUGH 1 /* The others did not answer. */
#else
#define ENOUGH Q
#endif
#if defined(TOO_FEW_ARE_KEPT)
#define wins(p) (number(p, granted) >= Q || (number(p, granted) == 1 && number(p, sent) == 0))
#define VALID_BY 1
#elif defined(GREATEST_FENCE_WINS)
#define is_less(p, m) (carries(p, m) || fence[m] < fence_of[p])
#define wins(p) (number(p, granted) > 0 && is_less(p, 0) && is_less(p, 1) && is_less(p, 2))
#define VALID_BY 1
#else
#define wins(p) (number(p, granted) >= ENOUGH)
#endif

/* M2: what is not held is freed, for as long as it may arrive. */
#define carried_by_none(p) (!carries(p, 0) && !carries(p, 1) && !carries(p, 2))
#if defined(LEFT_OVER_IS_FORGOTTEN)
#define may_forget(p) (number(p, late) == 0)
#elif defined(LATE_CLAIM_IS_FORGOTTEN)
#define may_forget(p) carried_by_none(p)
#else
#define may_forget(p) (number(p, late) == 0 && carried_by_none(p))
#endif

/* M3: one more than the greatest that Q members know; a member grants it if its own is less. */
#if defined(FENCE_OF_ONE_MEMBER)
#define learns_fence(p, m) (number(p, saw) == 1)
#define grants(p, m) true
#elif defined(REPAIR_OVER_A_RIVAL)
#define learns_fence(p, m) (fence[m] > fence_of[p])
#define grants(p, m) true
#else
#define learns_fence(p, m) (fence[m] > fence_of[p])
#define grants(p, m) (fence[m] < fence_of[p])
#endif
#if defined(FENCE_OF_EACH_MEMBER)
#define written_fence(p, m) (fence[m] + 1)
#elif defined(FENCE_OF_ONE_MEMBER) || defined(REPAIR_OVER_A_RIVAL)
#define written_fence(p, m) fence_of[p]
#else
#define written_fence(p, m) greater(fence_of[p], fence[m])
#endif

/* M4: each member is judged by itself. */
#define is_dead(m) (left[at(doc[m] - 1, m)] == 0)
#if defined(ONE_MEMBER_JUDGES_FOR_ALL)
#define says_dead(m, other) (doc[other] == doc[m] && is_dead(other))
#define may_take(m) (!is_taken(m) || says_dead(m, 0) || says_dead(m, 1) || says_dead(m, 2))
#else
#define may_take(m) (!is_taken(m) || is_dead(m))
#endif

/* M5: a hold is valid for as long as so many members protect it. One whose D has passed does so no
   more, whatever it confirms later. */
#if defined(DEADLINE_BY_NEWEST_PING)
#define VALID_BY 1
#elif !defined(VALID_BY)
#define VALID_BY ENOUGH
#endif
#if defined(PING_REVIVES)
#define may_ping(p, m) \
  (phase[p] == held && on[at(p, m)] == granted && left[at(p, m)] < WINDOW)
#define is_final false
#else
#define may_ping(p, m) \
  ((phase[p] == claims || phase[p] == held) && left[at(p, m)] > 0 && left[at(p, m)] < WINDOW)
#define is_final true
#endif

/* M6: whose answers count; when, and with which fence, a member is back. */
#if defined(IDENTITY_IS_NOT_READ)
#define counts(m) true
#define is_another_life false
#else
#define counts(m) (out[m] == 0)
#define is_another_life true
#endif
#if defined(EMPTIED_VOTES_AT_ONCE)
#define WAIT 0
#elif defined(WAIT_IS_TOO_SHORT)
#define WAIT (WINDOW - 1)
#else
#define WAIT WINDOW
#endif
#if defined(BACK_WITHOUT_FENCES)
#define fence_back(m, a, b) fence[m]
#else
#define fence_back(m, a, b) greater(fence[m], greater(fence[a], fence[b]))
#endif

/* M9: a repair is a compare-and-set, of a hold that is valid, and the document gets a new `when`. */
#if defined(REPAIR_OVER_A_RIVAL)
#define repairs(p, m) true
#define is_compared(p) (phase[p] != held && phase[p] != over)
#else
#define is_compared(p) true
#define repairs(p, m) (carries(p, m) || (!is_taken(m) && grants(p, m)))
#endif
#define ends(p) (protected(p) < VALID_BY)
#define may_repair(p) (phase[p] == held)
#if defined(REPAIR_KEEPS_WHEN)
#define is_the_same(was_own) was_own
#else
#define is_the_same(was_own) false
#endif
