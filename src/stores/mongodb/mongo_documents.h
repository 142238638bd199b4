#pragma once

#include <bson/bson.h>

#include <optional>
#include <string>

#include "stores/document.h"

namespace distlock {

/// A stored document as MongoDB hands it over. Names and texts may be other bytes than UTF-8: one
/// field of a stranger must not hide whose lock it is. Throws `bad_record` if it is not valid BSON.
Document document_from(const bson_t* bson);

/// The document that `iter` stands on, or nothing if it stands on something else. Throws as above.
std::optional<Document> document_at(const bson_iter_t* iter);

/// A bson_iter_t that stays as aligned as libbson may take it to be: as a template argument the
/// type itself would lose that.
struct alignas(bson_iter_t) Found : bson_iter_t {};

/// The value under `path` (dots descend) in `bson`, or nothing.
std::optional<Found> find(const bson_t* bson, const char* path);

/// The date under `path`. Errors: `not_applied` if there is none.
StoreTime time_at(const bson_t* document, const char* path);

}  // namespace distlock
