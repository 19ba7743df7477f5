/* What USD files show together (io/usd/usd_stage.h): which opinion is the strongest, whose clock times are on, where
 * paths lead, which variant is taken; circles end, files that are not there are named. Layers of text; crates and
 * packages are tests/test_import_usd.sh's. */
#include "io/usd/usd_file.h"
#include "io/usd/usd_stage.h"
#include "own_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *name, const char *text)
{
    FILE *out = fopen(own_folder_path(name), "w");
    assert_non_null(out);
    fprintf(out, "#usda 1.0\n%s", text);
    assert_int_equal(fclose(out), 0);
}

static su_usd_layer stage;

static void show(const char *root)
{
    su_error err = {0};
    put("root.usda", root);
    if (su_usd_open(own_folder_path("root.usda"), &stage, &err) != SU_OK) fail_msg("%s", err.text);
}

static int64_t prim_of(const char *path)
{
    enum { MOST = 16 };
    su_usd_text names[MOST];
    int count = su_usd_path_names((su_usd_text){path, (int64_t)strlen(path)}, MOST, names);
    return su_usd_prim_at(&stage, -1, count, names);
}

static const su_usd_attribute *attribute_of(const char *path, const char *name)
{
    int64_t prim = prim_of(path);
    return prim < 0 ? NULL : su_usd_find(&stage, prim, name);
}

/* The number that an attribute says first; NAN: none. */
static double number(const char *path, const char *name)
{
    double out = NAN;
    return su_usd_numbers(su_usd_first(attribute_of(path, name)), 1, &out) == 1 ? out : NAN;
}

static bool leads_to(const char *path, const char *name, const char *target)
{
    su_usd_text last;
    int64_t prim = -1;
    return su_usd_target(&stage, attribute_of(path, name), 0, &last, &prim) && prim == (target ? prim_of(target) : -1);
}

static void each_kind_of_opinion(void **state)
{
    (void)state;
    /* a is said by all, b by all but the strongest, and so on */
    put("sub.usda", "over \"p\" { int a = 2 int b = 2 int c = 2 int d = 2 int e = 2 int f = 2 int g = 2 }\n");
    put("far.usda", "( defaultPrim = \"q\" )\n"
                    "def \"q\" { int a = 5 int b = 5 int c = 5 int d = 5 int e = 5 int f = 5 int g = 5 }\n"
                    "def \"heavy\" { int a = 6 int b = 6 int c = 6 int d = 6 int e = 6 int f = 6 int g = 6 }\n");
    put("local.usda", "class \"kind\" { int a = 3 int b = 3 int c = 3 int d = 3 int e = 3 int f = 3 int g = 3 }\n"
                      "class \"base\" { int a = 7 int b = 7 int c = 7 int d = 7 int e = 7 int f = 7 int g = 7 }\n");
    show("( subLayers = [@./sub.usda@, @local.usda@] )\n"
         "def Xform \"p\" ( inherits = </kind> specializes = </base> references = @far.usda@ payload = "
         "@far.usda@</heavy>\n"
         "    variants = { string v = \"on\" } prepend variantSets = \"v\" )\n"
         "{ int a = 1 variantSet \"v\" = {\n"
         "    \"on\" { int a = 4 int b = 4 int c = 4 int d = 4 int e = 4 int f = 4 int g = 4 }\n"
         "    \"off\" { int z = 4 } } }\n");
    assert_true(number("/p", "a") == 1 && number("/p", "b") == 2);
    su_usd_close(&stage);

    /* without the stronger ones one by one */
    const struct {
        const char *arcs;
        double says;
    } left[] = {
        {"inherits = </kind> variants = { string v = \"on\" } references = @far.usda@", 3},
        {"specializes = </base> payload = @far.usda@</heavy> references = @far.usda@ variants = { string v = \"on\" }",
         4},
        {"specializes = </base> payload = @far.usda@</heavy> references = @far.usda@", 5},
        {"specializes = </base> payload = @far.usda@</heavy> variants = { string v = \"off\" }", 6},
        {"specializes = </base>", 7}};
    for (size_t k = 0; k < sizeof left / sizeof *left; k++) {
        char root[1000];
        snprintf(root, sizeof root,
                 "( subLayers = [@local.usda@] )\n"
                 "def \"p\" ( %s ) { variantSet \"v\" = { \"on\" { int a = 4 } \"off\" { int z = 4 } } }\n",
                 left[k].arcs);
        show(root);
        assert_true(number("/p", "a") == left[k].says);
        assert_true(isnan(number("/p", "z")) == (left[k].says != 6));
        assert_true(stage.prim[prim_of("/p")].defined && !stage.prim[prim_of("/kind")].defined);
        su_usd_close(&stage);
    }
}

static void what_is_specialized_is_weakest(void **state)
{
    (void)state;
    put("one.usda",
        "class \"base\" { int a = 1 int b = 1 int c = 1 }\ndef \"x\" ( specializes = </base> ) { int a = 2 }\n");
    put("two.usda", "def \"y\" { int a = 3 int b = 3 }\n");
    show("def \"p\" ( references = [@one.usda@</x>, @two.usda@</y>] ) {}\nclass \"base\" { int a = 4 int b = 4 int c = "
         "4 }\n");
    assert_true(number("/p", "a") == 2 && number("/p", "b") == 3 && number("/p", "c") == 4);
    su_usd_close(&stage);
}

static void lists_of_references(void **state)
{
    (void)state;
    put("many.usda", "def \"one\" { int a = 1 int one = 1 }\ndef \"two\" { int a = 2 int two = 1 }\ndef \"three\" { "
                     "int a = 3 int three = 1 }\n");
    put("weak.usda", "def \"p\" ( references = [@many.usda@</one>, @many.usda@</two>] ) {}\n"
                     "def \"q\" ( references = [@many.usda@</one>, @many.usda@</two>] ) {}\n"
                     "def \"r\" ( references = [@many.usda@</one>, @many.usda@</two>] ) {}\n"
                     "def \"s\" ( references = [@many.usda@</one>, @many.usda@</two>] ) {}\n");
    show("( subLayers = [@weak.usda@] )\n"
         "over \"p\" ( prepend references = @many.usda@</three> ) {}\n"
         "over \"q\" ( append references = @many.usda@</three> ) {}\n"
         "over \"r\" ( delete references = @many.usda@</one> ) {}\n"
         "over \"s\" ( references = None ) {}\n");
    assert_true(number("/p", "a") == 3 && number("/p", "one") == 1 && number("/p", "two") == 1);
    assert_true(number("/q", "a") == 1 && number("/q", "three") == 1);
    assert_true(number("/r", "a") == 2 && isnan(number("/r", "one")));
    assert_true(isnan(number("/s", "a")) && prim_of("/s") >= 0);
    su_usd_close(&stage);
}

static void times_on_one_clock(void **state)
{
    (void)state;
    put("anim.usda",
        "( timeCodesPerSecond = 48 )\n"
        "over \"p\" { double x.timeSamples = { 0: 1, 48: 2 } double still = 3 double z.timeSamples = { 0: 1 } }\n");
    put("asset.usda", "( timeCodesPerSecond = 12 subLayers = [@anim.usda@ (offset = 6)] )\n"
                      "def \"p\" { double y.timeSamples = { 0: 1, 12: 2 } }\n");
    show("( timeCodesPerSecond = 24 )\n"
         "def \"p\" ( references = @asset.usda@</p> (offset = 100; scale = -2) ) { double still.timeSamples = { 7: 8 } "
         "double z = 5 }\n");
    const su_usd_attribute *y = attribute_of("/p", "y"), *x = attribute_of("/p", "x");
    assert_true(y && y->samples == 2 && y->sample[0].time == 100 - 2 * 24 && y->sample[1].time == 100); /* backwards */
    assert_true(x && x->samples == 2 && x->sample[1].time == 100 - 2 * 2 * 6);
    assert_true(x->sample[0].time == 100 - 2 * 2 * (6 + 0.25 * 48));
    assert_true(attribute_of("/p", "still")->samples == 1 && number("/p", "still") == 8);
    assert_true(attribute_of("/p", "z")->samples == 0 && number("/p", "z") == 5); /* a stronger value hides samples */
    assert_true(stage.codes_per_second == 24);
    su_usd_close(&stage);
}

static void paths_of_what_is_taken(void **state)
{
    (void)state;
    put("asset.usda", "( defaultPrim = \"char\" )\n"
                      "def \"char\" { rel out = </elsewhere> def \"geo\" { rel bones = </char/rig/bones> def \"mesh\" "
                      "{ rel up = <../x> } }\n"
                      "  def \"rig\" ( references = @./rig.usda@ ) { rel to = </char/geo> } }\n"
                      "def \"elsewhere\" {}\n");
    put("rig.usda", "( defaultPrim = \"set\" )\ndef \"set\" { rel skel = </set/bones> def Skeleton \"bones\" { rel "
                    "motion = </set/walk> } def \"walk\" {} }\n");
    show("def \"world\" { def \"a\" ( references = @asset.usda@ ) {} def \"b\" ( references = @asset.usda@ ) { rel own "
         "= </world/a/geo> }\n"
         "  def \"c\" ( references = @asset.usda@</char/rig> ) {} def \"d\" ( references = </world/b/geo> ) {} }\n");
    assert_true(leads_to("/world/a/geo", "bones", "/world/a/rig/bones") &&
                leads_to("/world/b/geo", "bones", "/world/b/rig/bones"));
    assert_true(leads_to("/world/b/rig", "skel", "/world/b/rig/bones") &&
                leads_to("/world/b/rig/bones", "motion", "/world/b/rig/walk"));
    assert_true(leads_to("/world/b", "own", "/world/a/geo") && leads_to("/world/a", "out", NULL));
    assert_true(leads_to("/world/c/bones", "motion", "/world/c/walk") && leads_to("/world/c", "to", NULL));
    assert_true(
        leads_to("/world/d", "bones", "/world/b/rig/bones")); /* taken within one layer, paths mean what they say */
    su_usd_close(&stage);
}

static void variants_that_are_chosen(void **state)
{
    (void)state;
    put("geo.usda",
        "def \"geo\" ( variantSets = \"lod\" variants = { string lod = \"low\" } ) {\n"
        "  int size = 1 variantSet \"lod\" = { \"low\" { def \"few\" {} } \"high\" { def \"much\" {} } } }\n");
    put("asset.usda", "def \"char\" ( variantSets = [\"model\", \"look\"] variants = { string model = \"thin\" } ) {\n"
                      "  def \"geo\" ( references = @geo.usda@</geo> ) {}\n"
                      "  variantSet \"model\" = {\n"
                      "    \"thin\" { over \"geo\" { int size = 2 } }\n"
                      "    \"thick\" ( variants = { string look = \"red\" } ) { over \"geo\" ( variants = { string lod "
                      "= \"high\" } ) { int size = 3 }\n"
                      "       def \"proto\" { int made = 1 } def \"copy\" ( references = </char/proto> ) {}\n"
                      "       variantSet \"belly\" = { \"big\" { int belly = 9 } \"small\" { int belly = 1 } } } }\n"
                      "  variantSet \"look\" = { \"red\" { int look = 1 } \"blue\" { int look = 2 } } }\n");
    show("def \"one\" ( references = @asset.usda@</char> ) {}\n"
         "def \"two\" ( references = @asset.usda@</char> variants = { string model = \"thick\" string belly = \"big\" "
         "} ) {}\n"
         "def \"none\" ( references = @asset.usda@</char> variants = { string model = \"\" } ) {}\n");
    assert_true(number("/one/geo", "size") == 2); /* of a child a variant is stronger than what that takes itself */
    assert_true(prim_of("/one/geo/few") >= 0 && prim_of("/one/geo/much") < 0 && isnan(number("/one", "look")));
    assert_true(number("/two/geo", "size") == 3 && prim_of("/two/geo/much") >= 0 && prim_of("/two/geo/few") < 0);
    assert_true(number("/two", "look") == 1 && number("/two", "belly") == 9); /* chosen in a variant; a set in one */
    assert_true(number("/two/copy", "made") == 1 && prim_of("/one/copy") < 0);
    assert_true(number("/none/geo", "size") == 1);
    for (int64_t i = 0; i < stage.prims; i++) assert_true(stage.prim[i].set.size == 0);
    su_usd_close(&stage);
}

static void classes_from_outside(void **state)
{
    (void)state;
    put("asset.usda", "class \"_hero\" { int a = 1 int b = 1 }\n"
                      "def \"char\" ( inherits = </_hero> ) { class \"_limb\" { int length = 1 } def \"arm\" ( "
                      "inherits = </char/_limb> ) {} }\n");
    show("class \"_hero\" { int a = 2 }\n"
         "def \"me\" ( references = @asset.usda@</char> ) { over \"_limb\" { int length = 2 } }\n"
         "def \"you\" ( references = @asset.usda@</char> ) { int a = 3 }\n");
    assert_true(number("/me", "a") == 2 && number("/me", "b") == 1 && number("/you", "a") == 3);
    assert_true(number("/me/arm", "length") == 2 && number("/you/arm", "length") == 1);
    assert_true(stage.prim[prim_of("/me/arm")].defined && !stage.prim[prim_of("/me/_limb")].defined);
    su_usd_close(&stage);
}

static void what_stronger_layers_hide(void **state)
{
    (void)state;
    put("weak.usda", "def Mesh \"m\" { int a = 1 int b.timeSamples = { 1: 1 } def \"below\" {} }\n"
                     "def \"n\" ( active = false ) { def \"below\" {} }\ndef \"last\" {}\n");
    show("( subLayers = [@weak.usda@] )\n"
         "over \"new\" {}\nover \"m\" ( active = false ) { int a = None int b = None }\nover \"n\" ( active = true ) "
         "{}\n");
    assert_true(attribute_of("/m", "a") && isnan(number("/m", "a")) && attribute_of("/m", "b")->samples == 0);
    assert_true(stage.prim[prim_of("/m")].inactive && su_usd_is(stage.prim[prim_of("/m")].type, "Mesh"));
    assert_true(!stage.prim[prim_of("/n")].inactive && prim_of("/n/below") >= 0 &&
                !stage.prim[prim_of("/new")].defined);
    assert_true(prim_of("/m") < prim_of("/n") && prim_of("/last") < prim_of("/new")); /* the weaker layer's order */
    su_usd_close(&stage);
}

static void circles_end(void **state)
{
    (void)state;
    put("other.usda", "def \"q\" ( references = @root.usda@</p> ) { int b = 1 }\n");
    const char *const roots[] = {"def \"p\" ( references = </p> ) { int b = 1 }\n",
                                 "def \"p\" ( references = @other.usda@</q> ) {}\n",
                                 "def \"p\" { int b = 1 def \"c\" ( references = </p> ) {} }\n",
                                 "def \"p\" ( references = </p/c> ) { int b = 1 def \"c\" {} }\n",
                                 "def \"p\" { int b = 1 def \"c\" ( references = </q> ) {} }\ndef \"q\" { def \"d\" ( "
                                 "references = </p> ) {} }\n",
                                 "class \"p\" ( inherits = </q> ) { int b = 1 }\nclass \"q\" ( inherits = </p> ) {}\n",
                                 "( subLayers = [@root.usda@, @sub.usda@] )\ndef \"p\" { int b = 1 }\n"};
    put("sub.usda", "( subLayers = [@root.usda@] )\n");
    for (size_t k = 0; k < sizeof roots / sizeof *roots; k++) {
        show(roots[k]);
        assert_true(number("/p", "b") == 1 && stage.prims < 20);
        su_usd_close(&stage);
    }
}

static void chains_without_end(void **state)
{
    (void)state;
    enum { PRIMS = 3000, ROOM = 80 };
    const struct {
        const char *format, *says;
    } chains[] = {{"def \"a%d\" ( references = </a%d/b> ) { def \"b\" {} }\n", "lead from one to another more than"},
                  {"def \"a%d\" ( inherits = </a%d> ) {}\n", "is made of more than"}};
    for (size_t k = 0; k < sizeof chains / sizeof *chains; k++) {
        char *text = calloc(PRIMS, ROOM), *end = text;
        su_error err = {0};
        assert_non_null(text);
        for (int i = 0; i < PRIMS; i++) end += snprintf(end, ROOM, chains[k].format, i, i + 1);
        put("root.usda", text);
        free(text);
        assert_int_equal(su_usd_open(own_folder_path("root.usda"), &stage, &err), SU_INPUT);
        assert_non_null(strstr(err.text, chains[k].says));
    }
}

static void files_that_are_not_there(void **state)
{
    (void)state;
    put("half.usda", "def \"p\" { int a = 1 }\ndef \"q\" {{\n");
    show("( subLayers = [@gone.usda@] )\ndef \"p\" ( references = [@half.usda@</p>, </q>] ) { int b = 1 }\ndef \"q\" { "
         "int c = 1 }\n");
    assert_true(number("/p", "b") == 1 && number("/p", "c") == 1 && isnan(number("/p", "a")));
    assert_true(stage.missing && strstr(stage.missing, "gone.usda: cannot open"));
    su_usd_close(&stage);
    show("def \"p\" ( references = @half.usda@</p> ) {}\n");
    assert_true(stage.missing && strstr(stage.missing, "half.usda:3: something that is no part of a prim"));
    su_usd_close(&stage);
    show("def \"p\" ( references = @./steel.mtlx@</MaterialX> ) {}\n"); /* looks are for pictures */
    assert_null(stage.missing);
    su_usd_close(&stage);
    show("def \"p\" {}\n"); /* nothing to compose: the layer itself */
    assert_true(stage.parts == 0 && prim_of("/p") == 0);
    su_usd_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_of_opinion),
                                       cmocka_unit_test(what_is_specialized_is_weakest),
                                       cmocka_unit_test(lists_of_references),
                                       cmocka_unit_test(times_on_one_clock),
                                       cmocka_unit_test(paths_of_what_is_taken),
                                       cmocka_unit_test(variants_that_are_chosen),
                                       cmocka_unit_test(classes_from_outside),
                                       cmocka_unit_test(what_stronger_layers_hide),
                                       cmocka_unit_test(circles_end),
                                       cmocka_unit_test(chains_without_end),
                                       cmocka_unit_test(files_that_are_not_there)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, own_folder_make, own_folder_remove);
}
