#include "postgres_guard.h"

#include <array>
#include <memory>

#include "distlock/error.h"

namespace guarded {
namespace {

constexpr int kAttempts = 3;

using distlock::Errc;
using distlock::Error;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

// Equal stamps match, so that a change may be repeated. The row is locked from the comparison to
// the commit.
constexpr const char* kChange = R"(
  INSERT INTO resources AS r (id, fence, ts, number, value) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (id) DO UPDATE
    SET fence = excluded.fence, ts = excluded.ts, number = excluded.number,
        value = coalesce(excluded.value, r.value)
    WHERE r.fence < excluded.fence
       OR (r.fence = excluded.fence AND r.ts = excluded.ts AND r.number <= excluded.number)
  RETURNING coalesce(r.value, 0))";

bool succeeded(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

// An error that the server itself reports means that the change was rolled back.
bool was_rejected(PGconn* connection, const PGresult* result) {
  return PQstatus(connection) == CONNECTION_OK &&
         PQresultErrorField(result, PG_DIAG_SQLSTATE) != nullptr;
}

Result send_change(PGconn* connection, const std::string& id, const Stamp& stamp,
                   std::optional<std::int64_t> value) {
  const std::string fence = std::to_string(stamp.fence);
  const std::string ts = to_hex(stamp.ts);
  const std::string number = std::to_string(stamp.number);
  const std::string text = value ? std::to_string(*value) : "";
  const std::array<const char*, 5> values{id.c_str(), fence.c_str(), ts.c_str(), number.c_str(),
                                          value ? text.c_str() : nullptr};
  return {PQexecParams(connection, kChange, 5, nullptr, values.data(), nullptr, nullptr, 0),
          PQclear};
}

// A connection that was lost takes a transaction along, and a second attempt would be outside of
// it.
void check_no_transaction(PGconn* connection) {
  const PGTransactionStatusType status = PQtransactionStatus(connection);
  if (status != PQTRANS_INTRANS && status != PQTRANS_INERROR) return;
  throw Error(Errc::invalid_argument, "a guarded write cannot be a part of a transaction");
}

std::optional<std::int64_t> change(PGconn* connection, const std::string& id, const Stamp& stamp,
                                   std::optional<std::int64_t> value) {
  check_no_transaction(connection);
  for (int attempt = 1;; ++attempt) {
    const Result result = send_change(connection, id, stamp, value);
    if (succeeded(result.get()) && PQntuples(result.get()) == 1) {
      return std::stoll(PQgetvalue(result.get(), 0, 0));
    }
    if (succeeded(result.get())) {
      if (attempt == 1) return std::nullopt;
      throw Error(Errc::outcome_unknown, id + ": a later hold was here before this one could ask "
                                              "again whether it had changed it");
    }
    const std::string message = id + ": " + PQerrorMessage(connection);
    if (attempt == 1 && was_rejected(connection, result.get()))
      throw Error(Errc::not_applied, message);
    if (attempt == kAttempts) throw Error(Errc::outcome_unknown, message);
    PQreset(connection);
  }
}

}  // namespace

void make_resources(PGconn* connection) {
  const Result result(PQexec(connection, R"(
    CREATE TABLE IF NOT EXISTS resources(id text PRIMARY KEY, fence bigint NOT NULL,
                                         ts text NOT NULL, number bigint NOT NULL, value bigint))"),
                      PQclear);
  if (!succeeded(result.get())) throw Error(Errc::not_applied, PQerrorMessage(connection));
}

std::optional<std::int64_t> read_value(PGconn* connection, const std::string& id,
                                       const Stamp& stamp) {
  return change(connection, id, stamp, std::nullopt);
}

Outcome write_value(PGconn* connection, const std::string& id, const Stamp& stamp,
                    std::int64_t value) {
  return change(connection, id, stamp, value) ? Outcome::written : Outcome::refused;
}

}  // namespace guarded
