#pragma once

#include <bson/bson.h>

#include <optional>
#include <string>

#include "stores/document.h"

namespace distlock {

/// A stored document as MongoDB hands it over. Throws `bad_record` if its bytes are not valid BSON.
Document document_from(const bson_t* bson);

/// The document that `iter` stands on, or nothing if it stands on something else. Throws as above.
std::optional<Document> document_at(const bson_iter_t* iter);

/// What is under `path` (dots descend) in `bson`, or nothing.
std::optional<bson_iter_t> find(const bson_t* bson, const char* path);

}  // namespace distlock
