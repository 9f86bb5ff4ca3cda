#include "train/models/exported/graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "train/models/exported/fields.hpp"

namespace dbench::train {
namespace {

using Kind = ExportedArgument::Kind;

/// The forms of arguments in the file: how a key names its form, and how its elements are read.
enum class Form : uint8_t {
    none,
    value,
    integer,
    number,
    complex,
    flag,
    text,
    symbol,
    optional,
    device
};
struct ArgumentForm {
    const char* key;
    Form form;
    bool list;
    Kind kind;
};
constexpr ArgumentForm kForms[] = {
    {"as_none", Form::none, false, Kind::plain},
    {"as_tensor", Form::value, false, Kind::plain},
    {"as_tensors", Form::value, true, Kind::plain},
    {"as_optional_tensor", Form::optional, false, Kind::plain},
    {"as_optional_tensors", Form::optional, true, Kind::plain},
    {"as_int", Form::integer, false, Kind::plain},
    {"as_ints", Form::integer, true, Kind::plain},
    {"as_float", Form::number, false, Kind::plain},
    {"as_floats", Form::number, true, Kind::plain},
    {"as_complex", Form::complex, false, Kind::plain},
    {"as_bool", Form::flag, false, Kind::plain},
    {"as_bools", Form::flag, true, Kind::plain},
    {"as_string", Form::text, false, Kind::plain},
    {"as_strings", Form::text, true, Kind::plain},
    {"as_sym_int", Form::symbol, false, Kind::plain},
    {"as_sym_ints", Form::symbol, true, Kind::plain},
    {"as_sym_bool", Form::symbol, false, Kind::plain},
    {"as_sym_bools", Form::symbol, true, Kind::plain},
    {"as_sym_float", Form::symbol, false, Kind::plain},
    {"as_sym_floats", Form::symbol, true, Kind::plain},
    {"as_scalar_type", Form::integer, false, Kind::scalar_type},
    {"as_layout", Form::integer, false, Kind::layout},
    {"as_memory_format", Form::integer, false, Kind::memory_format},
    {"as_device", Form::device, false, Kind::device},
};

class GraphReader {
public:
    explicit GraphReader(std::string where) { graph_.where = std::move(where); }

    ExportedGraph read(const Field& program) {
        const Field version = program.at("schema_version");
        if (version.at("major").integer() != 8) {
            version.refuse("is version " + std::to_string(version.at("major").integer()) +
                           " of torch.export's format, and only version 8 (PyTorch 2.11) is read");
        }
        const Field module = program.at("graph_module"), graph = module.at("graph");
        const Field signature = module.at("signature");
        const Field inputs = signature.at("input_specs"), outputs = signature.at("output_specs");
        for (size_t k = 0; k < inputs.size(); ++k) read_input(inputs.at(k));
        const Field nodes = graph.at("nodes");
        for (size_t k = 0; k < nodes.size(); ++k) read_node(nodes.at(k));
        for (size_t k = 0; k < outputs.size(); ++k) read_output(outputs.at(k));
        read_batch(program, graph);
        return std::move(graph_);
    }

private:
    int define(const Field& name) {
        const auto next = static_cast<int>(graph_.values.size());
        if (!slots_.emplace(name.text(), next).second) {
            name.refuse("defines " + name.text() + " a second time");
        }
        graph_.values.push_back(name.text());
        return next;
    }

    Slot use(const Field& name) const {
        const auto found = slots_.find(name.text());
        if (found == slots_.end()) name.refuse("uses " + name.text() + " before it is computed");
        return {found->second};
    }

    void read_input(const Field& spec) {
        const std::string kind = spec.only_key();
        const Field each = spec.at(kind.c_str());
        const auto add = [&](ExportedInput::Kind of, const Field& arg, std::string name) {
            graph_.inputs.push_back({of, define(arg.at("name")), std::move(name)});
        };
        if (kind == "parameter") {
            add(ExportedInput::Kind::parameter, each.at("arg"), each.at("parameter_name").text());
        } else if (kind == "buffer") {
            add(ExportedInput::Kind::buffer, each.at("arg"), each.at("buffer_name").text());
            graph_.inputs.back().persistent = each.at("persistent").flag();
        } else if (kind == "tensor_constant") {
            add(ExportedInput::Kind::constant, each.at("arg"),
                each.at("tensor_constant_name").text());
        } else if (kind == "user_input") {
            if (!each.at("arg").has("as_tensor")) {
                each.refuse("is an input that is not a tensor, which no data set supplies");
            }
            add(ExportedInput::Kind::user, each.at("arg").at("as_tensor"), "");
        } else if (kind != "constant_input") {
            spec.refuse("is an input of the unknown kind " + kind);
        }
    }

    void read_output(const Field& spec) {
        const std::string kind = spec.only_key();
        if (kind != "user_output") {
            spec.refuse("is an output of the kind " + kind +
                        ", which graphs for training do not have");
        }
        const Field arg = spec.at("user_output").at("arg");
        graph_.outputs.push_back(arg.has("as_tensor") ? use(arg.at("as_tensor").at("name")).index
                                                      : -1);
    }

    ExportedItem item(const Field& value, Form form) const {
        switch (form) {
            case Form::none:
                return std::monostate();
            case Form::value:
                return use(value.at("name"));
            case Form::integer:
                return value.integer();
            case Form::number:
                return value.number();
            case Form::complex:
                return std::complex<double>(value.at("real").number(), value.at("imag").number());
            case Form::flag:
                return value.flag();
            case Form::text:
                return value.text();
            case Form::device:
                return value.at("type").text();
            case Form::optional:
                if (value.has("as_tensor")) return use(value.at("as_tensor").at("name"));
                value.at("as_none");
                return std::monostate();
            case Form::symbol:
                break;
        }
        if (value.has("as_name")) return use(value.at("as_name"));
        if (value.has("as_int")) return value.at("as_int").integer();
        if (value.has("as_float")) return value.at("as_float").number();
        return value.at("as_bool").flag();
    }

    ExportedArgument argument(const Field& given, std::string name) const {
        const std::string key = given.only_key();
        for (const ArgumentForm& form : kForms) {
            if (key != form.key) continue;
            ExportedArgument argument{std::move(name), form.kind, form.list, {}};
            const Field value = given.at(form.key);
            if (!form.list) {
                argument.items.push_back(item(value, form.form));
            } else {
                for (size_t k = 0; k < value.size(); ++k) {
                    argument.items.push_back(item(value.at(k), form.form));
                }
            }
            return argument;
        }
        given.refuse("is an argument of the kind " + key + ", which this program cannot compute");
    }

    ExportedResult result(const Field& given) {
        const std::string key = given.only_key();
        const Field value = given.at(key.c_str());
        if (key == "as_none") return {false, {-1}};
        if (key == "as_tensor") return {false, {define(value.at("name"))}};
        if (key == "as_sym_int" || key == "as_sym_bool" || key == "as_sym_float") {
            return {false, {define(value.at("as_name"))}};
        }
        if (key != "as_tensors") given.refuse("is a result of the unknown kind " + key);
        ExportedResult all{true, {}};
        for (size_t k = 0; k < value.size(); ++k) {
            all.slots.push_back(define(value.at(k).at("name")));
        }
        return all;
    }

    void read_node(const Field& given) {
        ExportedNode node{given.at("target").text(), {}, {}};
        node.gradients = gradients_;
        node.autocast = autocast_;
        const Field inputs = given.at("inputs"), outputs = given.at("outputs");
        if (node.target == "torch.ops.higher_order.wrap_with_set_grad_enabled") {
            const bool before = gradients_;
            gradients_ = inputs.at(size_t{0}).at("arg").at("as_bool").flag();
            read_region(inputs, 1, outputs);
            gradients_ = before;
            return;
        }
        if (node.target == "torch.ops.higher_order.wrap_with_autocast" &&
            !inputs.at(size_t{2}).at("arg").at("as_bool").flag()) {
            const bool before = std::exchange(autocast_, false);
            read_region(inputs, 4, outputs);
            autocast_ = before;
            return;
        }
        const bool nested = node.target.starts_with("torch.ops.higher_order.");
        for (size_t k = 0; k < inputs.size() && !nested; ++k) {
            const Field each = inputs.at(k);
            node.arguments.push_back(argument(each.at("arg"), each.at("name").text()));
        }
        for (size_t k = 0; k < outputs.size(); ++k) node.results.push_back(result(outputs.at(k)));
        graph_.nodes.push_back(std::move(node));
    }

    /// Returns the name of a tensor or a size.
    static Field name_of(const Field& value) {
        if (value.has("as_tensor")) return value.at("as_tensor").at("name");
        return value.at(value.only_key().c_str()).at("as_name");
    }

    /// Reads a graph inside of the graph: argument number `at`, followed by the graph's inputs. Its
    /// names are its own.
    void read_region(const Field& arguments, size_t at, const Field& results) {
        const Field region = arguments.at(at).at("arg").at("as_graph").at("graph");
        const Field inputs = region.at("inputs"), nodes = region.at("nodes");
        if (inputs.size() != arguments.size() - at - 1) region.refuse("has other inputs");
        std::map<std::string, int> own;
        for (size_t k = 0; k < inputs.size(); ++k) {
            const Field given = arguments.at(at + 1 + k).at("arg");
            own[name_of(inputs.at(k)).text()] = use(name_of(given)).index;
        }
        std::map<std::string, int> outer = std::exchange(slots_, std::move(own));
        for (size_t k = 0; k < nodes.size(); ++k) read_node(nodes.at(k));
        std::vector<int> found;
        const Field outputs = region.at("outputs");
        for (size_t k = 0; k < outputs.size(); ++k) {
            found.push_back(use(name_of(outputs.at(k))).index);
        }
        slots_ = std::move(outer);
        size_t next = 0;
        const auto name = [&](const Field& text) {
            if (next >= found.size()) text.refuse("is a result that its graph does not return");
            if (!slots_.emplace(text.text(), found[next++]).second) {
                text.refuse("defines " + text.text() + " a second time");
            }
        };
        for (size_t k = 0; k < results.size(); ++k) {
            const Field each = results.at(k);
            if (!each.has("as_tensors")) {
                name(name_of(each));
                continue;
            }
            const Field list = each.at("as_tensors");
            for (size_t i = 0; i < list.size(); ++i) name(list.at(i).at("name"));
        }
    }

    // The first dimension of the user's input is the size of the batch: a number if torch.export
    // has fixed it, else an expression with one symbol, whose range the file states.
    void read_batch(const Field& program, const Field& graph) {
        const Field metas = graph.at("tensor_values");
        const auto users =
            std::ranges::count(graph_.inputs, ExportedInput::Kind::user, &ExportedInput::kind);
        for (const ExportedInput& input : graph_.inputs) {
            if (input.kind != ExportedInput::Kind::user) continue;
            const Field sizes =
                metas.at(graph_.values[static_cast<size_t>(input.slot)].c_str()).at("sizes");
            // A loss function may also read a number, such as a penalty.
            if (sizes.size() == 0 && users > 1) continue;
            if (sizes.size() == 0) sizes.refuse("has no dimension for the samples of a batch");
            const Field first = sizes.at(size_t{0});
            if (first.has("as_int")) {
                const int64_t fixed = first.at("as_int").size_number();
                graph_.least_batch = fixed;
                graph_.most_batch = fixed;
                return;
            }
            const std::string& text = first.at("as_expr").at("expr_str").text();
            const Field ranges = program.at("range_constraints");
            const size_t begin = text.find("Symbol('"), end = text.find('\'', begin + 8);
            if (begin == text.npos || end == text.npos) first.refuse("is not a symbol");
            const std::string symbol = text.substr(begin + 8, end - begin - 8);
            if (!ranges.holds(symbol.c_str())) return;
            const Field range = ranges.at(symbol.c_str());
            if (range.holds("min_val")) graph_.least_batch = range.at("min_val").integer();
            if (range.holds("max_val")) graph_.most_batch = range.at("max_val").integer();
            return;
        }
    }

    ExportedGraph graph_;
    std::map<std::string, int> slots_;  // The values that can be used, by name.
    bool gradients_ = true, autocast_ = true;
};

}  // namespace

ExportedGraph read_graph(const base::Json& program, const std::string& where) {
    return GraphReader(where).read(Field(program, where + ": "));
}

}  // namespace dbench::train
