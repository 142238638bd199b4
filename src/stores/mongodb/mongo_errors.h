#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <optional>
#include <string>

#include "distlock/error.h"
#include "stores/effect.h"

namespace distlock {

/// The message where files of TLS on this host let no connection begin.
inline constexpr const char* kUnusableTlsFiles =
    "the files of TLS cannot be used; look at tlsCAFile, tlsCertificateKeyFile and the password of "
    "its key";

/// The error code for a failure of libmongoc (error API version 2): whether the command was
/// applied. In doubt `outcome_unknown`, but never for a read. `last_code`: code_of_last_answer().
Errc errc_of(const bson_error_t& error, Effect effect, std::optional<std::uint32_t> last_code);

/// Whether the driver failed to authenticate, for whatever reason. Then it sent no command.
bool is_of_authentication(const bson_error_t& error);

/// Throws what errc_of() says. `what` is the operation, its object and the server.
[[noreturn]] void throw_error(const bson_error_t& error, Effect effect, const std::string& what);

/// Whether the user may not do that, or there is no user.
bool is_unauthorized(const bson_error_t& error);

/// Whether a document with this `_id` was there already.
bool is_duplicate_key(const bson_error_t& error);

/// Whether it is the server's BadValue: its answer to a tailable cursor on a collection that is not
/// capped, among other things.
bool is_bad_value(const bson_error_t& error);

}  // namespace distlock
