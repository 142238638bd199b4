#include <bson/bson.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "stores/document.h"
#include "stores/mongodb/mongo_documents.h"

// A document of any bytes is judged: a record, or `bad_record`, and nothing else. A record that is
// judged to be taken names its holder. The bytes are MongoDB's for the JSON in the first line, with
// those of the second written over it: pairs of a place and a value.

using namespace distlock;

namespace {

template <class Judge>
auto judged(const Judge& judge) -> std::optional<decltype(judge())> {
  try {
    return judge();
  } catch (const Error& error) {
    if (error.errc() != Errc::bad_record) std::abort();
  }
  return std::nullopt;
}

void judge(const Document& document) {
  const auto lock = judged([&] { return lock_from(document); });
  if (lock && lock->taken() && (!lock->ts || lock->process.empty())) std::abort();
  if (lock && lock->fence < 0) std::abort();
  judged([&] { return ping_from(document); });
}

void judge_bytes(const std::vector<std::uint8_t>& bytes) {
  bson_t bson;
  if (!bson_init_static(&bson, bytes.data(), bytes.size())) return;
  if (const auto document = judged([&] { return document_from(&bson); })) judge(*document);
  if (const auto inner = find(&bson, "cursor.firstBatch.0.lock")) {
    const auto document = judged([&] { return document_at(&*inner); });
    if (document && *document) judge(**document);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto line = input.substr(0, input.find('\n'));
  bson_t* made = bson_new_from_json(data, static_cast<ssize_t>(line.size()), nullptr);
  if (made == nullptr) return 0;
  std::vector<std::uint8_t> bytes(bson_get_data(made), bson_get_data(made) + made->len);
  bson_destroy(made);
  for (std::size_t i = line.size() + 1; i + 1 < size; i += 2)
    bytes[data[i] % bytes.size()] = data[i + 1];
  judge_bytes(bytes);
  return 0;
}
