#pragma once

namespace dbench::base {

/// What this program was built from and how; the commit is brought up to date by every build.
struct BuildInfo {
    const char* version;
    const char* commit;  ///< twelve hexadecimal digits, or "unknown" outside of a git tree
    bool dirty;          ///< tracked files differed from the commit
    const char* compiler;
    const char* flags;
    const char* build_type;
    bool cuda;
};

const BuildInfo& build_info();

}  // namespace dbench::base
