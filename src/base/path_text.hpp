#pragma once
// Refuses the notation of shells in paths, which only a shell replaces.

#include <string>
#include <vector>

namespace dbench::base {

/// Throws UserError if `path` begins with ~, contains $NAME, or contains a {placeholder} that is
/// not one of `known` (such as "name"): a program would otherwise make a folder named "~". A path
/// that exists exactly as it is written is accepted. `where` names the key or option.
void check_path_text(const std::string& path, const std::string& where,
                     const std::vector<std::string>& known = {});

}  // namespace dbench::base
