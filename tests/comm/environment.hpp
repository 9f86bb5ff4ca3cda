#pragma once
// Environment variables that are set for the duration of a test.

#include <cstdlib>
#include <optional>
#include <string>

namespace dbench::comm::tests {

/// Sets a variable, and restores its previous value in the destructor.
class Environment {
public:
    /// `value` null: removes the variable.
    Environment(std::string name, const char* value) : name_(std::move(name)) {
        if (const char* before = std::getenv(name_.c_str())) before_ = before;
        value ? setenv(name_.c_str(), value, 1) : unsetenv(name_.c_str());
    }
    ~Environment() {
        before_ ? setenv(name_.c_str(), before_->c_str(), 1) : unsetenv(name_.c_str());
    }
    Environment(const Environment&) = delete;

private:
    std::string name_;
    std::optional<std::string> before_;
};

}  // namespace dbench::comm::tests
