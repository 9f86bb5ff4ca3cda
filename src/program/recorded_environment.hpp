#pragma once
// The environment variables that a result file records. Result files and reports are shared, so
// only variables that are known to change speed or results are recorded.

#include <map>
#include <string>
#include <string_view>

namespace dbench::program {

/// True if the value of this variable is recorded: the name is in the list, and no part of it says
/// that the value is a secret.
bool is_recorded(std::string_view name);

/// Returns the recorded variables of an environment: an array of "NAME=VALUE" that ends with null.
std::map<std::string, std::string> recorded_environment(const char* const* environment);

}  // namespace dbench::program
