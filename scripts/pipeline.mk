# The pipeline as make rules. A Makefile sets a few variables, includes this file and is run in the folder that is to
# hold the results; `supple bake` writes such a Makefile. `make -n` shows the commands.
#
#   SOURCE       the character: .glb, .gltf, .fbx, ..., or a sequence of meshes: .abc, .usda, walk.%04d.obj, walk.*.ply, ... (docs/import.md)
#   CHARACTER    its name in file names                       (default: SOURCE without folder and ending)
#   CLIPS        shots to bake, as file names                 (default: main)
#   CLIP_<shot>  the clip's name in SOURCE, where it differs; a shot named main takes SOURCE's only clip; or the file of a motion:
#                joint curves (.csv), another rig's (walk.fbx, walk.fbx:NAME)
#   SOURCE_<shot> the sequence of this shot, where it is not SOURCE
#   MODEL        a finished model, /elsewhere/fox.model.npz, with fox.tet.npz and fox.fit.npz beside it: shots are baked on it, and
#                nothing that they could train is made again  (default: none, a model is made)
#   FORMATS      what to write of each shot: abc pc2 mdd usda usdc usd obj npy glb vat skin, and html, its report
#                (default: abc)
#   SUPPLE       the front end                                (default: supple)
#   THREADS      threads of each program                      (default: each decides)
#   SHOT_THREADS the same of those that work on one shot, where make -j runs several at a time  (default: THREADS)
#   BASIS        one: one basis for all poses, from a motion of the rig's own and the shots; poses: bases a pose, aligned; none: no
#                model is trained, all shots are played in the full space; skinning: skinning eigenmodes and clusters, nothing is
#                trained (docs/skinning.md)  (default: one; poses where POSES or POSES_BOUND is set)
#   SELF_CONTACT new or all: with BASIS=one the flesh of the shots does not pass through itself (docs/contact.md); empty: it does
#   IMPORT_FLAGS POSES_FLAGS MOTION_FLAGS MESH_FLAGS FIT_FLAGS MODES_FLAGS ALIGN_FLAGS CUBATURE_FLAGS CONTACT_FLAGS SIM_FLAGS EXPORT_FLAGS
#   REPORT_FLAGS options of one stage; changing one makes that stage and all that depends on it again
#   EXPORT_FLAGS_<format> options of export for one format: EXPORT_FLAGS_usda := --over
#   CUT_FLAGS    options of import that belong to these shots and not to the character (--start, --end)
#   IMPORT_FILES POSES_FILES MESH_FILES MODES_FILES SIM_FILES ...  files that options of a stage name (sculpts, paint, parameters, forces), as words of the
#                shell: changing one makes that stage again
#   GRAVITY_FLAGS --gravity and --gravity-mode of modes, sim and fullsim: shots are trained with what they are simulated with
#   MODES_SHOTS  shots whose motion one basis is made for, too  (default: all of CLIPS; empty: none)
#   CLEAN_POSES  1: example poses are pushed out of themselves before the fit (docs/skin.md)  (default: as the rig has them)
#   BOUND        a shot with a frame whose error is above it is that of the full space; 0: none is; none: errors are not
#                found either  (default: 3%)
#   ACCEPT       1: shots with failed frames, where the flesh follows the rig, are no failure of `all`  (default: they are, with
#                everything written)
#   FULLSIM_FLAGS                                              (default: SIM_FLAGS)
#   COMMON_FLAGS options of every program                     (default: --progress none)
#   STRICT       1: the same bytes on every processor with AVX2 (--strict of all programs; docs/reliability.md)
#   POSES_BOUND  5%, say: poses are added until the interpolated bases are at most so much too stiff along the shots
#                (supple refine); POSES_FLAGS says which to begin with  (default: poses as POSES_FLAGS has them, none added)
#   REFINE_FLAGS options of supple refine
#   FARM         slurm, slurm:PARTITION: `make` sends all to that queue instead of running it here, and waits (supple farm-job)
#   CHECKPOINT   simulations keep what is done every so many frames, and go on from there  (default: never; on a farm 25)
#   POSES        example poses to fit, and with BASIS=poses to make modes of, one at a time, "0 1 2 3", so that `make -j` or a farm
#                spreads them; there have to be as many (default: all in one job)
#
# Goals: all (default), <shot>.anim.npz, $(CHARACTER).model.npz, <shot>.sim.npz, <shot>.abc, ...; <shot>.full.npz, the full
# simulation, and <shot>.compare.txt, how far the baked shot is from it; clean.
# Every program's statistics end up in stats/.

SUPPLE ?= supple
ifneq ($(strip $(MODEL)),)
CHARACTER := $(lastword $(patsubst %.model,%,$(basename $(notdir $(MODEL)))))
endif
CHARACTER ?= $(basename $(notdir $(SOURCE)))
CLIPS ?= main
FORMATS ?= abc
COMMON_FLAGS ?= --progress none
export SUPPLE_STRICT := $(if $(STRICT),1)
supple-strict := $(if $(STRICT),--strict)

supple-anims := $(CLIPS:%=%.anim.npz)
# Textures have a .json that describes them, beside it the others.
supple-formats := $(patsubst skin,skin.json,$(FORMATS:vat=vat.json))
supple-outputs := $(foreach format,$(supple-formats),$(CLIPS:%=%.$(format)))
supple-stages := IMPORT SIM FULLSIM EXPORT REPORT $(if $(strip $(MODEL)),,POSES MOTION MESH FIT MODES REFINE ALIGN CUBATURE CONTACT)
FULLSIM_FLAGS ?= $(SIM_FLAGS)
BOUND ?= 3%
MODES_SHOTS ?= $(supple-anims)
BASIS ?= $(if $(strip $(POSES) $(POSES_BOUND)),poses,one)
ifeq ($(filter one poses none skin skinning,$(BASIS)),)
$(error BASIS is one, poses, none, skin or skinning, not '$(BASIS)')
endif
supple-motion := $(CHARACTER).motion.anim.npz
# With self-contact, the pairs that stand for all; a finished model has them beside it.
supple-contact := $(if $(strip $(SELF_CONTACT)),$(if $(filter one,$(BASIS)),$(CHARACTER).contact.npz))

# All shots are made, whatever becomes of one of them; what failed is told at the end.
supple-simulator := $(or $(patsubst none,fullsim,$(filter none skin,$(BASIS))),sim)
supple-sim-stats := $(CLIPS:%=stats/$(supple-simulator).%.sim.npz.json)
all: $(if $(strip $(FARM)),supple-farm,$(supple-outputs))
	@$(if $(strip $(ACCEPT)),:,! grep -l '"failed_frames": [1-9]' $(supple-sim-stats) || { echo 'these shots have failed frames; ACCEPT=1 takes them' >&2; exit 4; })

# What the first shot asks for, to be there before the others.
supple-first: $(foreach format,$(supple-formats),$(firstword $(CLIPS)).$(format))

# On a farm: supple farm-job asks this makefile, with FARM empty, what is to be made, and sends that (--help).
supple-farm:
	$(SUPPLE) farm-job $(subst :, --partition ,$(FARM)) --makefile $(firstword $(MAKEFILE_LIST)) . $(MAKEOVERRIDES)
supple-checkpoint = $(if $(CHECKPOINT),--checkpoint $(CHECKPOINT) --resume)

# Text as one word of the shell; supple-word without spaces around it.
supple-quote = '$(subst ','\'',$(1))'
supple-word = '$(subst ','\'',$(strip $(1)))'

# A finished model and what lies beside it are linked into the folder.
ifneq ($(strip $(MODEL)),)
supple-here := $(shell from=$(call supple-word,$(patsubst %.model.npz,%,$(MODEL))); for kind in model tet fit poses basis contact motion.anim; do \
    to='$(CHARACTER)'.$$kind.npz; [ ! -e "$$from.$$kind.npz" ] || [ "$$from.$$kind.npz" -ef "$$to" ] || \
    if [ -e "$$to" ] && [ ! -L "$$to" ]; then echo "$$to"; else ln -sf "$$from.$$kind.npz" "$$to"; fi; done)
ifneq ($(supple-here),)
$(error $(supple-here) of another model lie in this folder)
endif
endif

# Flags are kept in files, rewritten only when they change; those of shots on a finished model may lie beside those that made it.
# Reading and writing happen while make reads this file, so that `make -n` shows nothing of it.
supple-flags := $(if $(strip $(MODEL)),.flags.shots,.flags)
$(shell mkdir -p $(supple-flags) stats)
supple-differ = $(subst x$(1)x,,x$(2)x)$(subst x$(2)x,,x$(1)x)
# When files were last changed, and how large they are.
supple-stamp = $(if $(strip $(1)),$(shell stat -L -c '%s %y' $(1) 2>/dev/null | cksum))
supple-keep = $(if $(call supple-differ,$(file <$(supple-flags)/$(1)),$(strip $(2))),$(file >$(supple-flags)/$(1),$(strip $(2))))
# What else of the variables a stage's results depend on.
supple-depends-IMPORT = $(CUT_FLAGS)
supple-depends-FIT = $(POSES)
supple-depends-MODES = $(POSES) $(BASIS) $(if $(filter one,$(BASIS)),$(GRAVITY_FLAGS) $(MODES_SHOTS) $(SELF_CONTACT))
supple-depends-REFINE = $(POSES_BOUND)
supple-depends-CONTACT = $(SELF_CONTACT)
supple-depends-SIM = $(GRAVITY_FLAGS) $(BOUND) $(SELF_CONTACT) $(BASIS)
supple-depends-FULLSIM = $(GRAVITY_FLAGS)
supple-depends-EXPORT = $(foreach format,$(FORMATS),$(EXPORT_FLAGS_$(format)))
$(foreach stage,$(supple-stages),$(call supple-keep,$(stage),$($(stage)_FLAGS) $(supple-strict) $(call supple-stamp,$($(stage)_FILES)) $(supple-depends-$(stage))))
$(foreach clip,$(CLIPS),$(call supple-keep,CLIP.$(clip),$(CLIP_$(clip))))
ifeq ($(strip $(MODEL)),)
$(call supple-keep,CLIPS,$(CLIPS))
endif

# One program: $(call supple-run,tool,arguments). Where STATUS is set, a failing program's exit status is kept in it, for
# make itself ends with 2 whatever happened.
supple-keep-status = $(if $(STATUS), || { code=$$?; echo $$code >$(STATUS); exit $$code; })
supple-of-shots := import sim fullsim skin compare export report
supple-threads = $(or $(if $(filter $(supple-of-shots),$(1)),$(SHOT_THREADS)),$(THREADS))
supple-run = $(SUPPLE) $(1) $(2) -o $@ $(strip $(addprefix -j ,$(call supple-threads,$(1))) $(supple-strict) $(COMMON_FLAGS)) --stats stats/$(1).$@.json$(supple-keep-status)
supple-space := $(subst ,, )
supple-inputs = $(filter-out $(supple-flags)/%,$^)

# A shot is a frame sequence of the character. Of a pattern all files count: their names, sizes and times are kept as flags are. A
# motion in a file of its own is a file that the shot depends on.
supple-hash := \#
supple-source = $(or $(SOURCE_$(1)),$(SOURCE))
supple-is-pattern = $(findstring %,$(1))$(findstring *,$(1))$(findstring ?,$(1))$(findstring $(supple-hash)$(supple-hash),$(1))$(findstring $$F,$(1))
supple-files = $(shell name=$(call supple-quote,$(1)); find "$$(dirname "$$name")" -maxdepth 1 -name "$$(basename "$$name" | \
    sed 's/%[0-9]*d/*/; s/$(supple-hash)$(supple-hash)*/*/; s/[$$]F[0-9]*/*/')" -printf '%f %s %T@\n' 2>/dev/null | sort | cksum)
supple-escape = $(subst $(supple-space),\$(supple-space),$(subst $(supple-hash),\$(supple-hash),$(subst $$,$$$$,$(1))))
define supple-shot-source
$(1).anim.npz: $(if $(call supple-is-pattern,$(call supple-source,$(1))),$(supple-flags)/SOURCE.$(1),$(call supple-escape,$(call supple-source,$(1))))
endef
$(foreach clip,$(CLIPS),$(if $(call supple-is-pattern,$(call supple-source,$(clip))),$(call \
    supple-keep,SOURCE.$(clip),$(call supple-source,$(clip)) $(call supple-files,$(call supple-source,$(clip))))))
$(foreach clip,$(CLIPS),$(eval $(call supple-shot-source,$(clip))))
$(supple-anims): %.anim.npz: $(supple-flags)/IMPORT $(supple-flags)/CLIP.%
	$(call supple-run,import,$(call supple-quote,$(call supple-source,$*)) $(if $(CLIP_$*),--clip '$(CLIP_$*)') $(strip $(IMPORT_FLAGS) $(CUT_FLAGS)))

ifeq ($(strip $(MODEL)),)
# With POSES, each pose is a job of its own and align collects them.
supple-modes = $(if $(POSES),$(POSES:%=$(CHARACTER).modes.%.npz),$(CHARACTER).modes.npz)

ifeq ($(POSES_BOUND),)
ifneq ($(CLEAN_POSES),)
# Poses as the rig has them are fitted once, pushed out of themselves, and fitted again as sculpts.
$(CHARACTER).rigged.poses.npz: $(supple-flags)/POSES $(supple-flags)/CLIPS $(supple-anims)
	$(call supple-run,poses,$(supple-inputs) $(POSES_FLAGS))

$(CHARACTER).tet.npz: $(CHARACTER).rigged.poses.npz $(supple-flags)/MESH
	$(call supple-run,mesh,$(supple-inputs) $(MESH_FLAGS))

$(CHARACTER).rigged.fit.npz: $(CHARACTER).tet.npz $(CHARACTER).rigged.poses.npz $(supple-flags)/FIT
	$(call supple-run,fit,$(supple-inputs) $(FIT_FLAGS))

$(CHARACTER).poses.npz: $(CHARACTER).tet.npz $(CHARACTER).rigged.fit.npz $(CHARACTER).rigged.poses.npz
	$(call supple-run,skin,--poses $(supple-inputs))
else
%.poses.npz: $(supple-flags)/POSES $(supple-flags)/CLIPS $(supple-anims)
	$(call supple-run,poses,$(supple-inputs) $(POSES_FLAGS))

# Where the neutral pose is the only one any clip has it: flesh is meshed from the first, while the others are read.
ifneq ($(filter -m/1 --poses/1,$(subst -m ,-m/,$(subst --poses ,--poses/,$(subst ',,$(POSES_FLAGS))))),)
supple-mesh-poses := neutral.poses
$(CHARACTER).neutral.poses.npz: $(firstword $(supple-anims)) $(supple-flags)/POSES
	$(call supple-run,poses,$(supple-inputs) $(POSES_FLAGS))

$(filter-out $(firstword $(supple-anims)),$(supple-anims)): | $(CHARACTER).neutral.poses.npz
else
supple-mesh-poses := poses
endif
%.tet.npz: %.$(supple-mesh-poses).npz $(supple-flags)/MESH
	$(call supple-run,mesh,$(supple-inputs) $(MESH_FLAGS))
endif

# Cleaned poses stay clean: their flesh may be no deeper inside itself than the skin may be missed, in %.
supple-fit-flags := $(if $(CLEAN_POSES),--deepest 0.2) $(FIT_FLAGS)

# With POSES, each pose is a job of its own, and one more puts them together; a pose that POSES lacks is fitted there.
supple-fits := $(POSES:%=$(CHARACTER).fit.%.npz)
# Skinning modes have no use for where tets collapse along the shots: clusters take the means of many.
supple-checked := $(if $(filter skinning,$(BASIS)),,$(supple-anims))
$(CHARACTER).fit.npz: $(CHARACTER).tet.npz $(CHARACTER).poses.npz $(supple-flags)/FIT $(supple-checked) $(supple-fits)
	$(call supple-run,fit,$(CHARACTER).tet.npz $(CHARACTER).poses.npz $(if $(supple-fits),--reuse $(supple-fits)) $(if $(supple-checked),--shots $(supple-checked)) $(supple-fit-flags))

ifneq ($(POSES),)
$(supple-fits): $(CHARACTER).fit.%.npz: $(CHARACTER).tet.npz $(CHARACTER).poses.npz $(supple-flags)/FIT
	$(call supple-run,fit,$(CHARACTER).tet.npz $(CHARACTER).poses.npz --pose $* $(supple-fit-flags))
endif

ifeq ($(BASIS),one)
$(supple-motion): $(CHARACTER).poses.npz $(supple-flags)/MOTION $(supple-anims)
	$(call supple-run,motion,$(supple-inputs) $(MOTION_FLAGS))

%.basis.npz: %.tet.npz %.fit.npz $(supple-motion) $(supple-flags)/MODES $(MODES_SHOTS)
	$(call supple-run,modes,$*.tet.npz $*.fit.npz --motion $(supple-motion) $(if $(strip $(MODES_SHOTS)),--shots $(MODES_SHOTS)) \
	    $(GRAVITY_FLAGS) $(if $(supple-contact),--self-contact $(SELF_CONTACT)) $(MODES_FLAGS))
else ifeq ($(BASIS),skinning)
%.skinning.npz: %.tet.npz %.fit.npz %.poses.npz $(supple-flags)/MODES
	$(call supple-run,modes,--kind skinning $(supple-inputs) $(MODES_FLAGS))
else
%.modes.npz: %.tet.npz %.fit.npz $(supple-flags)/MODES
	$(call supple-run,modes,$*.tet.npz $*.fit.npz $(MODES_FLAGS))

ifneq ($(POSES),)
$(POSES:%=$(CHARACTER).modes.%.npz): $(CHARACTER).modes.%.npz: $(CHARACTER).tet.npz $(CHARACTER).fit.npz $(supple-flags)/MODES
	$(call supple-run,modes,$(CHARACTER).tet.npz $(CHARACTER).fit.npz --pose $* $(MODES_FLAGS))
endif

%.basis.npz: %.tet.npz %.fit.npz $(supple-modes) $(supple-flags)/ALIGN $(supple-anims)
	$(call supple-run,align,$*.tet.npz $*.fit.npz $(supple-modes) --shots $(supple-anims) $(ALIGN_FLAGS))
endif
else
ifeq ($(BASIS),one)
$(error POSES_BOUND adds poses for bases a pose: BASIS=poses goes with it)
endif
ifneq ($(POSES),)
$(error POSES and POSES_BOUND exclude each other: jobs a pose need to know the poses)
endif
# The mesh follows the poses that there are before any is added, so that adding one leaves the others as they are.
%.start.poses.npz: $(supple-flags)/POSES $(supple-flags)/CLIPS $(supple-anims)
	$(call supple-run,poses,$(supple-inputs) $(POSES_FLAGS))

%.tet.npz: %.start.poses.npz $(supple-flags)/MESH
	$(call supple-run,mesh,$(supple-inputs) $(MESH_FLAGS))

# Four results of one run.
supple-refined := $(foreach kind,poses fit modes basis,$(CHARACTER).$(kind).npz)
$(supple-refined) &: $(CHARACTER).tet.npz $(foreach stage,POSES FIT MODES ALIGN REFINE,$(supple-flags)/$(stage)) $(supple-anims)
	$(subst -o $@,-o $(CHARACTER),$(subst refine.$@.json,refine.$(CHARACTER).basis.npz.json,$(call supple-run,refine,$< $(supple-anims) \
	    --bound $(call supple-word,$(POSES_BOUND)) --poses $(call supple-word,$(POSES_FLAGS)) --fit $(call supple-word,$(FIT_FLAGS)) \
	    --modes $(call supple-word,$(MODES_FLAGS)) --align $(call supple-word,$(ALIGN_FLAGS)) \
	    $(REFINE_FLAGS))))
endif

ifneq ($(filter none skin,$(BASIS)),)
%.model.npz: %.tet.npz %.poses.npz %.fit.npz
	$(call supple-run,cubature,$(supple-inputs) --flesh)
else ifeq ($(BASIS),skinning)
%.model.npz: %.tet.npz %.poses.npz %.fit.npz %.skinning.npz $(supple-flags)/CUBATURE
	$(call supple-run,cubature,$(supple-inputs) $(CUBATURE_FLAGS))
else
# One basis is trained on the states that it was made from: the same shots in the same order.
supple-trained := $(if $(filter one,$(BASIS)),$(supple-motion) $(MODES_SHOTS),$(supple-anims))
%.model.npz: %.tet.npz %.poses.npz %.fit.npz %.basis.npz $(supple-flags)/CUBATURE $(supple-trained)
	$(call supple-run,cubature,$*.tet.npz $*.poses.npz $*.fit.npz $*.basis.npz --shots $(supple-trained) $(CUBATURE_FLAGS))

%.contact.npz: %.tet.npz %.fit.npz %.model.npz $(supple-flags)/CONTACT $(supple-anims)
	$(call supple-run,contact,$*.tet.npz $*.fit.npz $*.model.npz $(supple-anims) --self-contact $(SELF_CONTACT) $(CONTACT_FLAGS))
endif

else
# How far each shot lies from what the finished model knows.
all: $(if $(strip $(FARM))$(filter none skin,$(BASIS)),,$(CLIPS:%=%.known.json))
$(CLIPS:%=%.known.json): %.known.json: $(CHARACTER).model.npz %.anim.npz
	$(SUPPLE) poses --known $^ $(if $(wildcard $(CHARACTER).motion.anim.npz),--shots $(CHARACTER).motion.anim.npz) $(strip $(COMMON_FLAGS)) --stats $@$(supple-keep-status)
endif

# The simulation of each road. In the full space Newton goes to where shots are 0.05 % of the motion off the truth below. Reduced shots come
# with their error, and those above BOUND are the full space's; of skinning modes there is no estimate.
supple-flesh := $(if $(filter skinning,$(BASIS)),,$(CHARACTER).tet.npz $(CHARACTER).fit.npz)
supple-sim-none = $(supple-flesh) $*.anim.npz --tolerance 1e-3 $(GRAVITY_FLAGS) $(SIM_FLAGS) --model $< --moved stats/$*.moved.txt $(supple-checkpoint)
supple-sim-skin = $(supple-flesh) $*.anim.npz --self-contact all --start previous $(SIM_FLAGS)
supple-sim-skinning = $< $*.anim.npz $(GRAVITY_FLAGS) $(SIM_FLAGS) --accept --moved stats/$*.moved.txt
supple-sim-one = $< $*.anim.npz $(supple-contact:%=--contact %) $(GRAVITY_FLAGS) $(SIM_FLAGS) --accept --moved stats/$*.moved.txt \
    $(if $(filter none,$(BOUND)),,--bound $(or $(strip $(BOUND)),0) --estimate $(supple-flesh)) $(supple-checkpoint)
supple-sim-poses = $(supple-sim-one)
$(CLIPS:%=%.sim.npz): %.sim.npz: $(CHARACTER).model.npz %.anim.npz $(supple-flesh) $(supple-contact) $(supple-flags)/SIM
	$(call supple-run,$(supple-simulator),$(supple-sim-$(BASIS)))

# Ground truth and its distance to what was baked; not among `all`, for it takes long.
$(CLIPS:%=%.full.npz): %.full.npz: $(CHARACTER).tet.npz $(CHARACTER).fit.npz %.anim.npz $(supple-flags)/FULLSIM
	$(call supple-run,fullsim,$(supple-inputs) $(GRAVITY_FLAGS) $(FULLSIM_FLAGS) $(supple-checkpoint))

$(CLIPS:%=%.compare.txt): %.compare.txt: $(CHARACTER).model.npz %.anim.npz %.sim.npz %.full.npz
	$(call supple-run,compare,$(supple-inputs) --csv $*.compare.csv)

define supple-export
$(CLIPS:%=%.$(1)): %.$(1): $(CHARACTER).model.npz %.anim.npz %.sim.npz $(supple-flags)/EXPORT
	$$(call supple-run,export,$$(supple-inputs) $$(EXPORT_FLAGS) $$(EXPORT_FLAGS_$(2))$(if $(filter skin,$(2)), --format skin))
endef
$(foreach format,$(filter-out obj html,$(supple-formats)),$(eval $(call supple-export,$(format),$(patsubst %.json,%,$(format)))))

# OBJ is a file a frame; <shot>.obj is a copy of the first, the mesh that .pc2 and .mdd belong to.
$(CLIPS:%=%.obj): %.obj: $(CHARACTER).model.npz %.anim.npz %.sim.npz $(supple-flags)/EXPORT
	$(subst -o $@,-o '$*.%04d.obj',$(call supple-run,export,$(supple-inputs) $(EXPORT_FLAGS) $(EXPORT_FLAGS_obj)))
	cp "$$(ls '$*'.[0-9]*.obj | head -n 1)" $@.tmp.0
	mv -f $@.tmp.0 $@

# The report of a shot, with what the stages behind it said; one modes file is needed for frequencies and contacts.
supple-report-modes := $(if $(POSES),,$(if $(filter poses,$(BASIS)),$(CHARACTER).modes.npz))
supple-report-basis := $(if $(filter one poses,$(BASIS)),$(CHARACTER).basis.npz)
supple-said-one := modes.$(CHARACTER).basis.npz
supple-said-poses := $(supple-modes:%=modes.%) align.$(CHARACTER).basis.npz
supple-said-skinning := modes.$(CHARACTER).skinning.npz
supple-said := $(if $(strip $(MODEL)),,poses.$(CHARACTER).poses.npz mesh.$(CHARACTER).tet.npz fit.$(CHARACTER).fit.npz $(supple-said-$(BASIS)) \
    cubature.$(CHARACTER).model.npz)
$(CLIPS:%=%.html): %.html: $(CHARACTER).model.npz %.anim.npz %.sim.npz $(CHARACTER).poses.npz $(supple-report-basis) $(supple-report-modes) $(supple-flags)/REPORT
	$(call supple-run,report,$(CHARACTER).model.npz $*.anim.npz $*.sim.npz --poses $(CHARACTER).poses.npz $(supple-report-basis:%=--basis %) \
	    $(supple-report-modes:%=--modes %) $(REPORT_FLAGS) --stage stats/import.$*.anim.npz.json $(supple-said:%=stats/%.json) \
	    stats/$(supple-simulator).$*.sim.npz.json)

$(supple-flags)/%: ;

clean:
	rm -rf $(supple-flags) .farm .lock $(if $(strip $(MODEL)),,stats) $(supple-anims) $(CLIPS:%=%.sim.npz) $(supple-outputs) \
	    $(foreach end,positions.exr normals.exr positions.png normals.png mesh.glb,$(CLIPS:%=%.vat.$(end))) $(CLIPS:%=%.skin.bin) \
	    $(CLIPS:%=%.full.npz) $(CLIPS:%=%.compare.txt) $(CLIPS:%=%.compare.csv) $(CLIPS:%=%.known.json)$(if $(strip $(MODEL)),, \
	    $(foreach kind,start.poses poses motion.anim tet fit modes basis skinning model contact,$(CHARACTER).$(kind).npz) \
	    $(supple-fits) $(POSES:%=$(CHARACTER).modes.%.npz))

.PHONY: all clean supple-farm supple-first
.DELETE_ON_ERROR:
.SECONDARY:
