/* The rules of docs/protocol.md that are about claims, each beside the bug that tools/model plants in
   its place. */

#define SKEW   2 /* How far the store's clock may be ahead or behind: as far as R5 lets pass. */
#define LIMIT  1 /* A call's: a ping that takes effect at all does so by then. */
#define WINDOW 7

#if defined(NO_ALLOWANCE)
#define VALID WINDOW
#elif defined(SKEW_ON_ONE_SIDE)
#define VALID (WINDOW - SKEW - LIMIT)
#elif defined(NO_CALL_IN_ALLOWANCE)
#define VALID (WINDOW - 2 * SKEW)
#else
#define VALID (WINDOW - 2 * SKEW - LIMIT) /* R9 */
#endif
#define CUTOFF  (LIMIT + 2 * SKEW) /* A claim takes effect by then; the clock may fall behind. R8 */

#if defined(SETTLED_AFTER_ONE_SKEW)
#define SETTLED (3 * LIMIT + SKEW)
#else
#define SETTLED (3 * LIMIT + 2 * SKEW) /* From then on "not ours" ends a pending release. R8 */
#endif

#if defined(TAKEOVER_BY_NAME)
#define matches(b, h) (h || (doc_ts == b && !doc_taken))
#else
#define matches(b, h) (doc_ts == b && doc_taken == h) /* R2 */
#endif

#if defined(NO_CUTOFF)
#define in_time(a) true
#else
#define in_time(a) (a <= CUTOFF) /* R8 */
#endif

#if defined(RELEASE_BY_NAME)
#define frees(t) doc_taken
#else
#define frees(t) (doc_taken && doc_ts == t) /* R3 */
#endif

#if defined(PENDING_ENDS_EARLY)
#define is_settled(t) true
#else
#define is_settled(t) (late_ts != t || late_age >= SETTLED) /* R8 */
#endif

#if defined(STALE_READ)
#define looks_dead true
#else
#define looks_dead (age[doc_owner] >= WINDOW && age[doc_owner] != NEVER) /* R6, R7 */
#endif

#if defined(CLAIM_BEFORE_PING)
#define may_claim(p) true
#else
#define may_claim(p) (left[p] > 0) /* R7 */
#endif

/* A ping is the worst that it can be: stamped by a clock that is behind, and a call limit ago, since
   a ping that got stuck in the store may overwrite a later one. Its reply, when it comes, counts
   from the sending; not for a claim under way, and not for a hold whose deadline has passed. R9 */
#define YOUNGEST (2 * SKEW + LIMIT)
#if defined(DEADLINE_FROM_REPLY)
#define gives(p) VALID
#else
#define gives(p) (YOUNGEST + VALID - age[p])
#endif

#if defined(PING_COUNTS_FOR_CLAIM)
#define may_count(p) true
#else
#define may_count(p) (at[p] != sent && at[p] != won && at[p] != unknown)
#endif
